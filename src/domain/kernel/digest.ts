import { hash } from 'node:crypto';
import { createMemo } from '../../lib/async/async.ts';

/** Block size of SHA-256 (RFC 2104). */
const BLOCK_BYTES = 64;
const HASH_BYTES = 32;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;
/** Longer texts are hashed from a buffer of their own. An event has some 1,500 characters. */
const TEXT_BYTES_MAX = 16_384;
/** Maximum UTF-8 bytes of a UTF-16 code unit. */
const UNIT_BYTES_MAX = 3;

/** State prepared once for each secret. */
interface PreparedSecret {
  /** Short stand-in for the secret in cache keys. */
  readonly id: number;
  /** The key's block of the inner hash. */
  readonly inner: Buffer;
  /** The key's block of the outer hash, with room for the inner hash. */
  readonly outer: Buffer;
}

/** A block of the key, each byte XORed with the pad, followed by room for the message. */
const paddedBlock = (key: Uint8Array, pad: number, messageBytes: number): Buffer => {
  const bytes = Buffer.allocUnsafeSlow(BLOCK_BYTES + messageBytes).fill(pad, 0, BLOCK_BYTES);
  for (let index = 0; index < key.length; index += 1) bytes[index] = (key[index] as number) ^ pad;
  return bytes;
};

const prepared = new WeakMap<Uint8Array, PreparedSecret>();
let secrets = 0;

const preparedOf = (secret: Uint8Array): PreparedSecret => {
  const known = prepared.get(secret);
  if (known !== undefined) return known;
  const key = secret.length > BLOCK_BYTES ? hash('sha256', secret, 'buffer') : secret;
  secrets += 1;
  const made = {
    id: secrets,
    inner: paddedBlock(key, INNER_PAD, 0),
    outer: paddedBlock(key, OUTER_PAD, HASH_BYTES),
  };
  prepared.set(secret, made);
  return made;
};

/** Higher: more memory, about 300 kB for a thousand. Lower: more digests are recomputed. */
const CACHED_MAX = 1000;
const repeated = createMemo<string>(CACHED_MAX);

/** Cache key for a text and its secret. The secret must never be changed. */
export const keyedText = (secret: Uint8Array, text: string): string => `${preparedOf(secret).id} ${text}`;

/** A cached `keyedDigest`, for texts that recur in many messages. A repeat costs a tenth. */
export const repeatedDigest = (secret: Uint8Array, purpose: string, text: string): string =>
  repeated(keyedText(secret, `${purpose}\0${text}`), () => keyedDigest(secret, purpose, text));

/** Reused for the inner hash: hashing is synchronous. */
const SHORT = Buffer.allocUnsafeSlow(BLOCK_BYTES + TEXT_BYTES_MAX);

/** The key's inner block followed by the text. Valid until the next call. */
const innerOf = ({ inner }: PreparedSecret, text: string): Buffer => {
  const isShort = text.length * UNIT_BYTES_MAX <= TEXT_BYTES_MAX;
  const bytes = isShort ? SHORT : Buffer.allocUnsafe(BLOCK_BYTES + Buffer.byteLength(text));
  bytes.set(inner);
  return bytes.subarray(0, BLOCK_BYTES + bytes.write(text, BLOCK_BYTES));
};

/**
 * Implemented here (RFC 2104 §2) because the platform's HMAC takes ten times as long for short texts, and every send
 * computes several: 1 µs each. The inner hash is passed as a binary string, which costs half as much as a buffer.
 */
const hmac = (secret: Uint8Array, text: string, encoding: 'hex' | 'binary'): string => {
  const known = preparedOf(secret);
  known.outer.write(hash('sha256', innerOf(known, text), 'binary'), BLOCK_BYTES, 'latin1');
  return hash('sha256', known.outer, encoding);
};

/** HMAC-SHA256; 32 bytes. */
export const hmacSha256 = (secret: Uint8Array, text: string): Buffer =>
  Buffer.from(hmac(secret, text, 'binary'), 'latin1');

/** HMAC-SHA256 over `purpose NUL text`; 32 bytes. */
export const keyedBytes = (secret: Uint8Array, purpose: string, text: string): Buffer =>
  hmacSha256(secret, `${purpose}\0${text}`);

const KEYED_CHARACTERS = 32;

/** Keyed digest, hex of the first 16 bytes of HMAC-SHA256. Texts can be compared without being revealed. */
export const keyedDigest = (secret: Uint8Array, purpose: string, text: string): string =>
  hmac(secret, `${purpose}\0${text}`, 'hex').slice(0, KEYED_CHARACTERS);

/** SHA-256, hex. */
export const sha256Hex = (data: string | Uint8Array): string => hash('sha256', data, 'hex');

/** SHA-256, 32 bytes. */
export const sha256 = (text: string): Buffer => Buffer.from(hash('sha256', text, 'binary'), 'latin1');

/** The subject without differences in letter case and white space. */
const comparable = (subject: string): string => subject.normalize('NFC').trim().replace(/\s+/g, ' ').toLowerCase();

/** Search key for messages: the log and the read models do not contain the subject itself. */
export const subjectDigest = (secret: Uint8Array, subject: string): string =>
  keyedDigest(secret, 'subject', comparable(subject));

/** Search key for one metadata entry, like `subjectDigest`. */
export const metadataDigest = (secret: Uint8Array, name: string, value: string): string =>
  keyedDigest(secret, 'metadata', `${name}\0${value}`);
