import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto';

/**
 * Signed notes (C2SP signed-note), checkpoints in them (C2SP tlog-checkpoint) and cosignatures of witnesses (C2SP
 * tlog-cosignature), with Ed25519 keys or, for cosignatures only, ML-DSA-44 keys (from Node 24 on).
 */

/** Kinds of signature, as the first byte of a key. */
const ED25519 = 0x01;
const COSIGNATURE = 0x04;
/** A timestamped cosignature too, which names its cosigner and resists quantum computers. */
export const ML_DSA_44 = 0x06;
type KeyType = typeof ED25519 | typeof COSIGNATURE | typeof ML_DSA_44;

const HASH_BYTES = 32;
const KEY_ID_BYTES = 4;
const TIME_BYTES = 8;
/** Maximum length of names in an ML-DSA-44 signed message. */
const SHORT_BYTES_MAX = 255;
/** Limits on input: longer notes and more signatures are rejected before any signature is checked. */
const NOTE_BYTES_MAX = 65_536;
const SIGNATURES_MAX = 64;

/** Length of a key, and the DER before its bytes. The private key is a seed of 32 bytes. */
interface Form {
  readonly publicBytes: number;
  readonly spki: Buffer;
  readonly pkcs8: Buffer;
}

/** RFC 8410 §4, §7. */
const ED25519_FORM: Form = {
  publicBytes: 32,
  spki: Buffer.from('302a300506032b6570032100', 'hex'),
  pkcs8: Buffer.from('302e020100300506032b657004220420', 'hex'),
};

/** RFC 9881 §4, §6. */
const ML_DSA_44_FORM: Form = {
  publicBytes: 1312,
  spki: Buffer.from('30820532300b0609608648016503040311' + '0382052100', 'hex'),
  pkcs8: Buffer.from('3034020100300b0609608648016503040311' + '04228020', 'hex'),
};

const FORMS: Readonly<Record<number, Form>> = {
  [ED25519]: ED25519_FORM,
  [COSIGNATURE]: ED25519_FORM,
  [ML_DSA_44]: ML_DSA_44_FORM,
};

/** Malformed note, key or checkpoint. The message is a sentence. */
export class MalformedNote extends Error {
  override readonly name = 'MalformedNote';
}

/** A public key held by a verifier: `<name>+<id>+<base64 of type and key>`. */
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
/** Accepts only the canonical encoding, so that no byte can be changed unseen. @throws {MalformedNote} */
const bytesOf = (base64: string, what: string): Buffer => {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.toString('base64') !== base64) throw new MalformedNote(`${what} is not base64`);
  return bytes;
};

const publicKeyOf = (name: string, key: Buffer): KeyObject => {
  try {
    return createPublicKey({ key, format: 'der', type: 'spki' });
  } catch {
    throw new MalformedNote(`this version of Node cannot use the key ${name}: ML-DSA-44 needs Node 24`);
  }
};

const verifierKeyOf = (name: string, typeAndKey: Buffer): VerifierKey => {
  const form = FORMS[typeAndKey[0] ?? 0];
  if (form === undefined || typeAndKey.length !== 1 + form.publicBytes) {
    throw new MalformedNote(`the key ${name} is neither Ed25519 nor ML-DSA-44`);
  }
  const type = typeAndKey[0] as KeyType; // it has a form
  const publicKey = publicKeyOf(name, Buffer.concat([form.spki, typeAndKey.subarray(1)]));
  const id = keyId(name, typeAndKey).toString('hex');
  return { name, id, type, publicKey, text: `${name}+${id}+${typeAndKey.toString('base64')}` };
};

/** @throws {MalformedNote} */
export const parseVerifierKey = (text: string): VerifierKey => {
  const [, name = '', id, key = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(text.trim()) ?? [];
  if (!KEY_NAME.test(name))
    throw new MalformedNote('not a valid verifier key: expected <name>+<eight hex digits>+<base64>');
  const parsed = verifierKeyOf(name, bytesOf(key, `the key ${name}`));
  if (parsed.id !== id)
    throw new MalformedNote(`the key ${name} does not match its id ${id}: it is incomplete or mistyped`);
  return parsed;
};

/** A private key that signs or cosigns notes. */
export interface Signer {
  readonly verifierKey: VerifierKey;
  /** A line of a signed note, with its line feed. @param seconds since 1970, of a cosignature. */
  signatureLine(text: string, seconds?: number): string;
}

const lineOf = ({ name, id }: VerifierKey, signature: Buffer): string =>
  `\u2014 ${name} ${Buffer.concat([Buffer.from(id, 'hex'), signature]).toString('base64')}\n`;

const uint64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(TIME_BYTES);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
};

const shortText = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  if (bytes.length > SHORT_BYTES_MAX) throw new MalformedNote(`${text} has more than ${SHORT_BYTES_MAX} bytes`);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
};

/** Bytes that a witness signs (tlog-cosignature, "Ed25519 signed message" and "ML-DSA-44 signed message"). */
const cosigned = ({ type, name }: VerifierKey, text: string, seconds: number): Buffer => {
  if (type === COSIGNATURE) return Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`);
  const { origin, size, root } = parseCheckpoint(text);
  const [time, start, end] = [seconds, 0, size].map(uint64) as [Buffer, Buffer, Buffer];
  return Buffer.concat([Buffer.from('subtree/v1\n\0'), shortText(name), time, shortText(origin), start, end, root]);
};

/** @param seed 32 bytes, the private key (RFC 8032 §5.1.5). */
export const createSigner = (name: string, seed: Uint8Array, type: KeyType = ED25519): Signer => {
  const { pkcs8, publicBytes } = FORMS[type] as Form;
  const key = createPrivateKey({ key: Buffer.concat([pkcs8, seed]), format: 'der', type: 'pkcs8' });
  const raw = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-publicBytes);
  const verifierKey = verifierKeyOf(name, Buffer.concat([Buffer.from([type]), raw]));
  return {
    verifierKey,
    signatureLine: (text, seconds = 0) => {
      if (type === ED25519) return lineOf(verifierKey, sign(null, Buffer.from(text), key));
      const signature = sign(null, cosigned(verifierKey, text, seconds), key);
      return lineOf(verifierKey, Buffer.concat([uint64(seconds), signature]));
    },
  };
};

/** A witness's signer. */
export const createCosigner = (
  name: string,
  seed: Uint8Array,
  type: typeof COSIGNATURE | typeof ML_DSA_44 = COSIGNATURE,
): Signer => createSigner(name, seed, type);

interface Signature {
  readonly name: string;
  readonly id: string;
  readonly bytes: Buffer;
}

export interface Note {
  /** Text that is signed, with its last line feed. */
  readonly text: string;
  readonly signatures: readonly Signature[];
}

const signatureOf = (line: string): Signature => {
  const [, name = '', base64 = ''] = /^\u2014 ([^ ]+) ([^ ]+)$/.exec(line) ?? [];
  const bytes = bytesOf(base64, 'a signature');
  if (!KEY_NAME.test(name) || bytes.length <= KEY_ID_BYTES) throw new MalformedNote(`not a valid signature: ${line}`);
  return { name, id: bytes.subarray(0, KEY_ID_BYTES).toString('hex'), bytes: bytes.subarray(KEY_ID_BYTES) };
};

/** Signer of a signature line: the beginning of the key's text, `<name>+<id>`. @throws {MalformedNote} */
export const signatoryOf = (line: string): string => {
  const { name, id } = signatureOf(line.trimEnd());
  return `${name}+${id}`;
};

/** @throws {MalformedNote} */
export const parseNote = (note: string): Note => {
  if (Buffer.byteLength(note) > NOTE_BYTES_MAX)
    throw new MalformedNote(`the note is larger than ${NOTE_BYTES_MAX} bytes`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a note has none but line feeds
  if (/[\u0000-\u0009\u000b-\u001f]/.test(note)) throw new MalformedNote('the note contains control characters');
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n'))
    throw new MalformedNote('the note must consist of text, an empty line and signatures');
  const lines = note.slice(end + 2, -1).split('\n');
  if (lines.length > SIGNATURES_MAX) throw new MalformedNote(`the note has more than ${SIGNATURES_MAX} signatures`);
  return { text: note.slice(0, end + 1), signatures: lines.map(signatureOf) };
};

/** @returns seconds since 1970; null if it is not valid. */
const cosignedAt = (text: string, key: VerifierKey, bytes: Buffer): number | null => {
  if (bytes.length <= TIME_BYTES) return null;
  const seconds = Number(bytes.readBigUInt64BE());
  const isTime = Number.isSafeInteger(seconds);
  return isTime && verify(null, cosigned(key, text, seconds), key.publicKey, bytes.subarray(TIME_BYTES))
    ? seconds
    : null;
};

/**
 * The time of a cosignature in seconds since 1970; 0 for another valid signature; null if the key did not sign the
 * note.
 * @throws {MalformedNote} if an ML-DSA-44 cosignature covers something other than a checkpoint.
 */
export const signedAt = ({ text, signatures }: Note, key: VerifierKey): number | null => {
  const { name, id, type, publicKey } = key;
  const signature = signatures.find((one) => one.name === name && one.id === id);
  if (signature === undefined) return null;
  if (type !== ED25519) return cosignedAt(text, key, signature.bytes);
  return verify(null, Buffer.from(text), publicKey, signature.bytes) ? 0 : null;
};

/** Statement signed by a log: the first `size` leaves of the log `origin` have this root. */
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
    throw new MalformedNote('a checkpoint must have an origin, a size and a root, one per line');
  }
  const bytes = bytesOf(root, 'the root of a checkpoint');
  if (bytes.length !== HASH_BYTES) throw new MalformedNote('the root of a checkpoint must have 32 bytes');
  return { origin, size: Number(size), root: bytes };
};

/** A note with its signatures. */
export const signedNote = (text: string, lines: readonly string[]): string => `${text}\n${lines.join('')}`;

/**
 * Trust policies (C2SP tlog-policy): which logs and witnesses are known, and how many of the latter must have cosigned.
 */

/** Malformed policy. The message is a sentence. */
export class MalformedPolicy extends Error {
  override readonly name = 'MalformedPolicy';
}

/** A group is satisfied by `threshold` of its members, each the name of a witness or of an earlier group. */
interface Group {
  readonly threshold: number;
  readonly members: readonly string[];
}

export interface Policy {
  readonly logs: readonly VerifierKey[];
  /** Keys by name in the policy, which may differ from the name in the key. */
  readonly witnesses: ReadonlyMap<string, VerifierKey>;
  /** URLs of witnesses that are asked to cosign, by name in the policy. Witnesses that are only verified have none. */
  readonly urls: ReadonlyMap<string, string>;
  readonly groups: ReadonlyMap<string, Group>;
  /** Name of a witness or a group; `none`: no cosignature is required. */
  readonly quorum: string;
}

const NO_QUORUM = 'none';

export const NO_POLICY: Policy = {
  logs: [],
  witnesses: new Map(),
  urls: new Map(),
  groups: new Map(),
  quorum: NO_QUORUM,
};

/** Longer policies are rejected. The specification requires room for 32 of each. */
const LINES_MAX = 1_000;

interface Draft {
  readonly logs: VerifierKey[];
  readonly witnesses: Map<string, VerifierKey>;
  readonly urls: Map<string, string>;
  readonly groups: Map<string, Group>;
  readonly members: Set<string>;
  quorum: string | null;
}

const requireThat = (holds: boolean, problem: string): void => {
  if (!holds) throw new MalformedPolicy(problem);
};

const isKnown = ({ witnesses, groups }: Pick<Draft, 'witnesses' | 'groups'>, name: string): boolean =>
  witnesses.has(name) || groups.has(name);

const isSameKey = (one: VerifierKey, other: VerifierKey): boolean => one.publicKey.equals(other.publicKey);

const addLog = ({ logs }: Draft, [vkey = '']: readonly string[]): void => {
  const key = parseVerifierKey(vkey);
  requireThat(key.type !== COSIGNATURE, `the key of the log ${key.name} belongs to a witness`);
  requireThat(!logs.some((log) => isSameKey(log, key)), `the log ${key.name} is listed twice`);
  logs.push(key);
};

const addWitness = (draft: Draft, [name = '', vkey = '', url]: readonly string[]): void => {
  const key = parseVerifierKey(vkey);
  requireThat(key.type !== ED25519, `the key of witness ${name} is not a cosignature key`);
  requireThat(name !== NO_QUORUM && !isKnown(draft, name), `the name ${name} is already in use`);
  const isRepeated = [...draft.witnesses.values()].some((witness) => isSameKey(witness, key));
  requireThat(!isRepeated, `the key of witness ${name} is listed twice`);
  draft.witnesses.set(name, key);
  if (url !== undefined) draft.urls.set(name, url);
};

const thresholdOf = (word: string, members: number): number => {
  if (word === 'all') return members;
  if (word === 'any') return 1;
  return /^[1-9]\d{0,3}$/.test(word) ? Number(word) : 0;
};

const addGroup = (draft: Draft, [name = '', word = '', ...members]: readonly string[]): void => {
  requireThat(name !== '' && name !== NO_QUORUM && !isKnown(draft, name), `the name ${name} is already in use`);
  const threshold = thresholdOf(word, members.length);
  requireThat(threshold >= 1 && threshold <= members.length, `group ${name} needs a threshold: all, any or a number`);
  for (const member of members) {
    requireThat(isKnown(draft, member), `group ${name} names ${member}, which no earlier line defines`);
    requireThat(!draft.members.has(member), `${member} is in two groups`);
    draft.members.add(member);
  }
  draft.groups.set(name, { threshold, members });
};

const setQuorum = (draft: Draft, [name = '']: readonly string[]): void => {
  requireThat(draft.quorum === null, 'the policy has a second quorum line');
  requireThat(name === NO_QUORUM || isKnown(draft, name), `the quorum ${name} is not defined by an earlier line`);
  draft.quorum = name;
};

const LINES: Readonly<Record<string, (draft: Draft, words: readonly string[]) => void>> = {
  log: addLog,
  witness: addWitness,
  group: addGroup,
  quorum: setQuorum,
};

/** @throws {MalformedPolicy | MalformedNote} */
export const parsePolicy = (text: string): Policy => {
  const lines = text.split('\n');
  requireThat(lines.length <= LINES_MAX, `the policy has more than ${LINES_MAX} lines`);
  const draft: Draft = {
    logs: [],
    witnesses: new Map(),
    urls: new Map(),
    groups: new Map(),
    members: new Set(),
    quorum: null,
  };
  for (const line of lines) {
    const [word = '', ...words] = line.split(/[ \t]+/).filter((each) => each !== '');
    if (word === '' || word.startsWith('#')) continue;
    const read = LINES[word];
    if (read === undefined)
      throw new MalformedPolicy(`unknown policy line '${word}': expected log, witness, group or quorum`);
    read(draft, words);
  }
  const { logs, witnesses, urls, groups, quorum } = draft;
  if (quorum === null) throw new MalformedPolicy('the policy has no quorum line');
  return { logs, witnesses, urls, groups, quorum };
};

/** A policy as a file without URLs, for verifiers, which contact no witness. */
export const policyText = ({ logs, witnesses, groups, quorum }: Policy): string =>
  [
    ...logs.map(({ text }) => `log ${text}`),
    ...[...witnesses].map(([name, { text }]) => `witness ${name} ${text}`),
    ...[...groups].map(([name, { threshold, members }]) => `group ${name} ${threshold} ${members.join(' ')}`),
    `quorum ${quorum}`,
    '',
  ].join('\n');

/** True if witnesses with these names satisfy the quorum. */
export const meetsQuorum = ({ groups, quorum }: Policy, cosigners: ReadonlySet<string>): boolean => {
  const isMet = (name: string): boolean => {
    const group = groups.get(name);
    return group === undefined ? cosigners.has(name) : group.members.filter(isMet).length >= group.threshold;
  };
  return quorum === NO_QUORUM || isMet(quorum);
};
