import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import { WrongSecretKey } from '../../domain/ports/secrets.ts';
import type { System } from '../../domain/ports/system.ts';

/** Layout: version (1 byte), key id (8), nonce (12), tag (16), ciphertext. Version 1 had no key id. */
const VERSION = 2;
const VERSION_WITHOUT_KEY_ID = 1;
const KEY_ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const CIPHER = 'aes-256-gcm';

/** `SECRET_KEY`, which seals, and another that opens too while the key is rotated. */
export interface SecretKeys {
  readonly current: string;
  readonly previous?: string | undefined;
}

export interface SecretBox {
  /** @param id of the row, authenticated: what is sealed for one row does not open for another. */
  seal(id: string, plaintext: string): Buffer;
  /** @throws {WrongSecretKey} sealed under a key that is not at hand, under another id, or changed since. */
  open(id: string, sealed: Buffer): string;
  /** Whether it is sealed under `current`. */
  isCurrent(sealed: Buffer): boolean;
  /** Names `current`; tells nothing of it. */
  readonly keyId: string;
}

interface Key {
  readonly id: Buffer;
  readonly bytes: Buffer;
}

const derived = (secretKey: string, info: string, length: number): Buffer =>
  Buffer.from(hkdfSync('sha256', secretKey, '', info, length));

/**
 * AES-256-GCM under keys derived from `SECRET_KEY`, one for each row, so that random nonces never repeat however many
 * rows there are. What is sealed names the key by an id, so that a key can be rotated while rows of both are read.
 * @param purpose keys of one purpose do not open what is sealed for another.
 */
export const createSecretBox = (
  { current, previous }: SecretKeys,
  purpose: 'vault.secrets' | 'vault.contents',
  system: Pick<System, 'randomBytes'>,
): SecretBox => {
  const keyOf = (secretKey: string): Key => ({
    id: derived(secretKey, 'outbox key id', KEY_ID_BYTES),
    bytes: derived(secretKey, `outbox ${purpose} v1`, KEY_BYTES),
  });
  const sealing = keyOf(current);
  const keys = previous === undefined ? [sealing] : [sealing, keyOf(previous)];

  const rowKey = ({ bytes }: Key, id: string): Buffer => createHmac('sha256', bytes).update(id).digest();

  const decrypt = (key: Buffer, id: string, box: Buffer): string => {
    const nonce = box.subarray(0, NONCE_BYTES);
    const tag = box.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(id));
    decipher.setAuthTag(tag);
    return decipher.update(box.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  };

  const openWithoutKeyId = (id: string, box: Buffer): string => {
    const problems: unknown[] = [];
    for (const { bytes } of keys) {
      try {
        return decrypt(bytes, id, box);
      } catch (error) {
        problems.push(error);
      }
    }
    throw new AggregateError(problems, 'no key opens it');
  };

  const idIn = (sealed: Buffer): Buffer => sealed.subarray(1, 1 + KEY_ID_BYTES);

  const openAny = (id: string, sealed: Buffer): string => {
    if (sealed[0] === VERSION_WITHOUT_KEY_ID) return openWithoutKeyId(id, sealed.subarray(1));
    if (sealed[0] !== VERSION) throw new Error(`layout ${sealed[0]}`);
    const key = keys.find((one) => one.id.equals(idIn(sealed)));
    if (key === undefined) throw new Error(`it is sealed under key ${idIn(sealed).toString('hex')}`);
    return decrypt(rowKey(key, id), id, sealed.subarray(1 + KEY_ID_BYTES));
  };

  return {
    seal: (id, plaintext) => {
      const nonce = system.randomBytes(NONCE_BYTES);
      const key = rowKey(sealing, id);
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(id));
      const ciphertext = [cipher.update(plaintext, 'utf8'), cipher.final()];
      return Buffer.concat([Uint8Array.of(VERSION), sealing.id, nonce, cipher.getAuthTag(), ...ciphertext]);
    },

    open: (id, sealed) => {
      try {
        return openAny(id, sealed);
      } catch (error) {
        throw new WrongSecretKey(`${id} does not open with this SECRET_KEY`, { cause: error });
      }
    },

    isCurrent: (sealed) => sealed[0] === VERSION && idIn(sealed).equals(sealing.id),
    keyId: sealing.id.toString('hex'),
  };
};
