import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import { WrongSecretKey } from '../../domain/secrets.ts';
import type { System } from '../../domain/system.ts';

/** Layout: version (1 byte), nonce (12), tag (16), ciphertext. */
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const CIPHER = 'aes-256-gcm';

export interface SecretBox {
  seal(id: string, plaintext: string): Buffer;
  /** @throws {WrongSecretKey} sealed under another key or another id, or changed since. */
  open(id: string, sealed: Buffer): string;
}

/** AES-256-GCM under a key derived from `SECRET_KEY`. The id is authenticated too: rows cannot be exchanged. */
export const createSecretBox = (secretKey: string, system: System): SecretBox => {
  const key = Buffer.from(hkdfSync('sha256', secretKey, '', 'outbox vault.secrets v1', KEY_BYTES));

  return {
    seal: (id, plaintext) => {
      const nonce = system.randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(id));
      const ciphertext = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
      return Buffer.concat([Uint8Array.of(VERSION), nonce, cipher.getAuthTag(), ciphertext]);
    },

    open: (id, sealed) => {
      const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
      const tag = sealed.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES);
      const ciphertext = sealed.subarray(1 + NONCE_BYTES + TAG_BYTES);
      try {
        if (sealed[0] !== VERSION) throw new Error(`layout ${sealed[0]}`);
        const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(id));
        decipher.setAuthTag(tag);
        return decipher.update(ciphertext, undefined, 'utf8') + decipher.final('utf8');
      } catch (error) {
        throw new WrongSecretKey(`secret ${id} does not open with this SECRET_KEY`, { cause: error });
      }
    },
  };
};
