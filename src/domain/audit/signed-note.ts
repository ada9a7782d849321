import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto';

/**
 * Signed notes (C2SP signed-note), checkpoints in them (C2SP tlog-checkpoint) and cosignatures of witnesses (C2SP
 * tlog-cosignature), with Ed25519 keys.
 */

/** Kinds of signature, as the first byte of a key. */
const ED25519 = 0x01;
export const COSIGNATURE = 0x04;
type KeyType = typeof ED25519 | typeof COSIGNATURE;

const KEY_BYTES = 32;
const KEY_ID_BYTES = 4;
const TIME_BYTES = 8;
/** Bounds of what is read: longer notes and more signatures are refused before any is checked. */
const NOTE_BYTES_MAX = 65_536;
const SIGNATURES_MAX = 64;

/** DER before the 32 bytes of an Ed25519 key (RFC 8410 §4, §7). */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** What is no note, key or checkpoint, in a sentence. */
export class MalformedNote extends Error {
  override readonly name = 'MalformedNote';
}

/** A public key that a verifier holds: `<name>+<id>+<base64 of type and key>`. */
export interface VerifierKey {
  readonly name: string;
  /** Eight hexadecimal digits. */
  readonly id: string;
  readonly type: KeyType;
  readonly publicKey: KeyObject;
  readonly text: string;
}

const keyId = (name: string, typeAndKey: Uint8Array): Buffer =>
  hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typeAndKey]), 'buffer').subarray(0, KEY_ID_BYTES);

const KEY_NAME = /^[^\s+\p{Cc}]{1,300}$/u;
/** Of one form alone, so that no byte can be changed unseen. @throws {MalformedNote} */
const bytesOf = (base64: string, what: string): Buffer => {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.toString('base64') !== base64) throw new MalformedNote(`${what} is not base64`);
  return bytes;
};

const verifierKeyOf = (name: string, typeAndKey: Buffer): VerifierKey => {
  const type = typeAndKey[0];
  if ((type !== ED25519 && type !== COSIGNATURE) || typeAndKey.length !== 1 + KEY_BYTES) {
    throw new MalformedNote(`the key ${name} is not of Ed25519`);
  }
  const publicKey = createPublicKey({
    key: Buffer.concat([SPKI, typeAndKey.subarray(1)]),
    format: 'der',
    type: 'spki',
  });
  const id = keyId(name, typeAndKey).toString('hex');
  return { name, id, type, publicKey, text: `${name}+${id}+${typeAndKey.toString('base64')}` };
};

/** @throws {MalformedNote} */
export const parseVerifierKey = (text: string): VerifierKey => {
  const [, name = '', id, key = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(text.trim()) ?? [];
  if (!KEY_NAME.test(name)) throw new MalformedNote('a verifier key is <name>+<eight hex digits>+<base64>');
  const parsed = verifierKeyOf(name, bytesOf(key, `the key ${name}`));
  if (parsed.id !== id) throw new MalformedNote(`the key ${name} has another id than ${id}: a part of it is missing`);
  return parsed;
};

/** A private key: who signs notes or cosigns them. */
export interface Signer {
  readonly verifierKey: VerifierKey;
  /** A line of a signed note, with its line feed. @param seconds since 1970, of a cosignature. */
  signatureLine(text: string, seconds?: number): string;
}

const lineOf = ({ name, id }: VerifierKey, signature: Buffer): string =>
  `\u2014 ${name} ${Buffer.concat([Buffer.from(id, 'hex'), signature]).toString('base64')}\n`;

/** What a witness signs (tlog-cosignature, "Format"). */
const cosigned = (text: string, seconds: number): Buffer => Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`);

/** @param seed 32 bytes, the private key (RFC 8032 §5.1.5). */
export const createSigner = (name: string, seed: Uint8Array, type: KeyType = ED25519): Signer => {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' });
  const raw = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(SPKI.length);
  const verifierKey = verifierKeyOf(name, Buffer.concat([Buffer.from([type]), raw]));
  return {
    verifierKey,
    signatureLine: (text, seconds = 0) => {
      if (type === ED25519) return lineOf(verifierKey, sign(null, Buffer.from(text), key));
      const time = Buffer.alloc(TIME_BYTES);
      time.writeBigUInt64BE(BigInt(seconds));
      return lineOf(verifierKey, Buffer.concat([time, sign(null, cosigned(text, seconds), key)]));
    },
  };
};

export const createCosigner = (name: string, seed: Uint8Array): Signer => createSigner(name, seed, COSIGNATURE);

interface Signature {
  readonly name: string;
  readonly id: string;
  readonly bytes: Buffer;
}

export interface Note {
  /** What is signed, with its last line feed. */
  readonly text: string;
  readonly signatures: readonly Signature[];
}

const signatureOf = (line: string): Signature => {
  const [, name = '', base64 = ''] = /^\u2014 ([^ ]+) ([^ ]+)$/.exec(line) ?? [];
  const bytes = bytesOf(base64, 'a signature');
  if (!KEY_NAME.test(name) || bytes.length <= KEY_ID_BYTES) throw new MalformedNote(`this is no signature: ${line}`);
  return { name, id: bytes.subarray(0, KEY_ID_BYTES).toString('hex'), bytes: bytes.subarray(KEY_ID_BYTES) };
};

/** @throws {MalformedNote} */
export const parseNote = (note: string): Note => {
  if (Buffer.byteLength(note) > NOTE_BYTES_MAX) throw new MalformedNote(`a note has ${NOTE_BYTES_MAX} bytes at most`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a note has none but line feeds
  if (/[\u0000-\u0009\u000b-\u001f]/.test(note)) throw new MalformedNote('a note has no control characters');
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n')) throw new MalformedNote('a note is text, an empty line and signatures');
  const lines = note.slice(end + 2, -1).split('\n');
  if (lines.length > SIGNATURES_MAX) throw new MalformedNote(`a note has ${SIGNATURES_MAX} signatures at most`);
  return { text: note.slice(0, end + 1), signatures: lines.map(signatureOf) };
};

/** @returns seconds since 1970; null: it is not valid. */
const cosignedAt = (text: string, publicKey: KeyObject, bytes: Buffer): number | null => {
  if (bytes.length <= TIME_BYTES) return null;
  const seconds = Number(bytes.readBigUInt64BE());
  return verify(null, cosigned(text, seconds), publicKey, bytes.subarray(TIME_BYTES)) ? seconds : null;
};

/** The time of a cosignature in seconds since 1970, 0 for another valid signature; null: the key did not sign the note. */
export const signedAt = ({ text, signatures }: Note, { name, id, type, publicKey }: VerifierKey): number | null => {
  const signature = signatures.find((one) => one.name === name && one.id === id);
  if (signature === undefined) return null;
  if (type === COSIGNATURE) return cosignedAt(text, publicKey, signature.bytes);
  return verify(null, Buffer.from(text), publicKey, signature.bytes) ? 0 : null;
};

/** What a log's signature is about: the first `size` leaves of the log `origin` have this root. */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Buffer;
}

/** The text of a checkpoint, without extensions (tlog-checkpoint, "Note text"). */
export const checkpointText = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`;

/** @throws {MalformedNote} */
export const parseCheckpoint = (text: string): Checkpoint => {
  const [origin = '', size = '', root = ''] = text.split('\n');
  if (origin === '' || !/^(?:0|[1-9]\d{0,14})$/.test(size)) {
    throw new MalformedNote('a checkpoint is an origin, a size and a root, each in a line');
  }
  const bytes = bytesOf(root, 'the root of a checkpoint');
  if (bytes.length !== KEY_BYTES) throw new MalformedNote('the root of a checkpoint has 32 bytes');
  return { origin, size: Number(size), root: bytes };
};

/** A note with its signatures. */
export const signedNote = (text: string, lines: readonly string[]): string => `${text}\n${lines.join('')}`;
