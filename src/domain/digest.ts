import { hash } from 'node:crypto';

/** Keyed digest, hex of the first 16 bytes of HMAC-SHA256: compares texts without revealing them. */
export const keyedDigest = (secret: Uint8Array, purpose: string, text: string): string =>
  keyedBytes(secret, purpose, text).subarray(0, 16).toString('hex');

/** A thousand take some 300 kB; fewer are recomputed more often. */
const CACHED_MAX = 1000;
const cache = new Map<string, string>();

/** As `keyedDigest`, cached: for texts that come with message after message. A repeat costs a tenth. */
export const repeatedDigest = (secret: Uint8Array, purpose: string, text: string): string => {
  const key = `${Buffer.from(secret).toString('base64')}\0${purpose}\0${text}`;
  const known = cache.get(key);
  if (known !== undefined) return known;
  if (cache.size === CACHED_MAX) cache.clear();
  const digest = keyedDigest(secret, purpose, text);
  cache.set(key, digest);
  return digest;
};

/** RFC 2104: a block of SHA-256. */
const BLOCK_BYTES = 64;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;

/** The digest of a block, each byte of the key combined with the pad's, and what follows it. */
const hashPadded = (key: Uint8Array, pad: number, message: Uint8Array): Buffer => {
  const bytes = Buffer.allocUnsafe(BLOCK_BYTES + message.length).fill(pad, 0, BLOCK_BYTES);
  for (let index = 0; index < key.length; index += 1) bytes[index] = (key[index] as number) ^ pad;
  bytes.set(message, BLOCK_BYTES);
  return hash('sha256', bytes, 'buffer');
};

/**
 * HMAC-SHA256 over `purpose NUL text`; 32 bytes. Written out (RFC 2104 §2) because the platform's costs four times as
 * much for short texts, and every send makes several.
 */
export const keyedBytes = (secret: Uint8Array, purpose: string, text: string): Buffer => {
  const key = secret.length > BLOCK_BYTES ? hash('sha256', secret, 'buffer') : secret;
  return hashPadded(key, OUTER_PAD, hashPadded(key, INNER_PAD, Buffer.from(`${purpose}\0${text}`)));
};

/** SHA-256, hex. */
export const sha256Hex = (text: string): string => hash('sha256', text, 'hex');

/** SHA-256, 32 bytes. */
export const sha256 = (text: string): Buffer => hash('sha256', text, 'buffer');

/** A subject without differences of letter case and white space. */
const comparable = (subject: string): string => subject.normalize('NFC').trim().replace(/\s+/g, ' ').toLowerCase();

/** Messages are searched by this digest: the log and the read models do not contain the subject itself. */
export const subjectDigest = (secret: Uint8Array, subject: string): string =>
  keyedDigest(secret, 'subject', comparable(subject));

/** As `subjectDigest`, of one metadata entry. */
export const metadataDigest = (secret: Uint8Array, name: string, value: string): string =>
  keyedDigest(secret, 'metadata', `${name}\0${value}`);
