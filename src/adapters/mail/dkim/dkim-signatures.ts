import { hash, type KeyObject, sign } from 'node:crypto';
import type { SigningKey } from '../../../domain/signing-key.ts';
import type { UnsignedMessage } from '../mime-message.ts';
import type { PrivateKeys } from './private-keys.ts';
import { relaxedHeader } from './relaxed-header.ts';
import { type SignatureTags, signatureHeader, signatureValue } from './signature-header.ts';
import { signedHeaders } from './signed-headers.ts';

const SECOND_MS = 1000;
/**
 * A week (the tag `x`), longer than any server keeps mail that it passes on (RFC 5321 §4.5.4.1: 4 to 5 days); each
 * attempt is signed anew. Without it whoever has one copy could send it to others for ever, on our good name, and no
 * key that was replaced could ever be withdrawn.
 */
const VALID_SECONDS = 7 * 24 * 60 * 60;

/** On the thread pool: RSA keeps a core busy for longer than all else a message needs. */
const signatureOf = (algorithm: string | null, data: Buffer, key: KeyObject): Promise<string> =>
  new Promise((resolve, reject) => {
    sign(algorithm, data, key, (error, signature) =>
      error === null ? resolve(signature.toString('base64')) : reject(error),
    );
  });

/** RFC 8463 §3: Ed25519 signs the hash. */
const signDigest = (data: Buffer, key: KeyObject): Promise<string> =>
  key.asymmetricKeyType === 'ed25519'
    ? signatureOf(null, hash('sha256', data, 'buffer'), key)
    : signatureOf('sha256', data, key);

export interface Signing {
  readonly keys: readonly SigningKey[];
  readonly privateKeys: PrivateKeys;
  /** The tag `bh`. */
  readonly bodyHash: string;
  readonly now: Date;
}

/**
 * `DKIM-Signature` header fields (RFC 6376, RFC 8463), one for each key, in the order of the keys. Without `l=`, which
 * lets anybody add to the body, and without `z=`, which tells what stands in the headers already.
 * @throws {Error} a key that cannot be signed with.
 */
export const dkimSignatures = async ({ head }: UnsignedMessage, signing: Signing): Promise<string> => {
  const { names, relaxed } = signedHeaders(head);
  const signedAt = Math.floor(signing.now.getTime() / SECOND_MS);
  const tags: SignatureTags = { names, bodyHash: signing.bodyHash, signedAt, expiresAt: signedAt + VALID_SECONDS };
  const headers = await Promise.all(
    signing.keys.map(async (key) => {
      const value = signatureValue(key, tags);
      const own = relaxedHeader('dkim-signature', value).slice(0, -'\r\n'.length);
      return signatureHeader(value, await signDigest(Buffer.from(relaxed + own), signing.privateKeys.of(key)));
    }),
  );
  return headers.join('');
};
