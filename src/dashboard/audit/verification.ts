import type {
  AuditCheckpoint,
  AuditConsistency,
  AuditEntry,
  AuditProof,
} from '../../http/resources/audit/checkpoints.ts';
import { request } from '../data/api.ts';
import { count } from '../data/time.ts';

/**
 * Verifies a transparency log in the browser: Merkle trees (RFC 9162 §2.1) and signed notes (C2SP signed-note,
 * tlog-checkpoint). It trusts nothing from the service except the bytes that it verifies.
 */

const HASH_BYTES = 32;
const KEY_ID_BYTES = 4;
const ED25519 = 1;

const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

const join = (...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> => {
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
};

/** @returns null if the text is not canonical base64. */
const bytesOf = (base64: string): Uint8Array | null => {
  try {
    const text = atob(base64);
    return btoa(text) === base64 ? Uint8Array.from(text, (character) => character.charCodeAt(0)) : null;
  } catch {
    return null;
  }
};

const hexOf = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const areEqual = (one: Uint8Array | null, other: Uint8Array | null): boolean =>
  one !== null && other !== null && hexOf(one) === hexOf(other);

const sha256 = async (...parts: readonly Uint8Array[]): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', join(...parts)));

/** `HASH(0x00 || leaf)` */
const leafHash = (leaf: string): Promise<Uint8Array> => sha256(Uint8Array.of(0), encode(leaf));
const nodeHash = (left: Uint8Array, right: Uint8Array): Promise<Uint8Array> => sha256(Uint8Array.of(1), left, right);

const half = (value: number): number => Math.floor(value / 2);
const isOdd = (value: number): boolean => value % 2 === 1;

type Side = 'left' | 'right';

/** The sides of the siblings on the path from a node to the root. The last node of a level may have no sibling. */
const sidesOf = (node: number, last: number): readonly Side[] => {
  const sides: Side[] = [];
  for (let [at, end] = [node, last]; end > 0; [at, end] = [half(at), half(end)]) {
    if (isOdd(at)) sides.push('left');
    else if (at < end) sides.push('right');
  }
  return sides;
};

interface Step {
  readonly side: Side;
  readonly sibling: Uint8Array;
}

/** @returns null if the number of siblings does not match the path. */
const stepsOf = (sides: readonly Side[], siblings: readonly Uint8Array[]): readonly Step[] | null =>
  sides.length === siblings.length
    ? siblings.map((sibling, index) => ({ sibling, side: sides[index] ?? 'right' }))
    : null;

const climb = async (from: Uint8Array, steps: readonly Step[]): Promise<Uint8Array> => {
  let root = from;
  for (const { side, sibling } of steps) {
    root = side === 'left' ? await nodeHash(sibling, root) : await nodeHash(root, sibling);
  }
  return root;
};

/** Root computed from a leaf and its inclusion proof (RFC 9162 §2.1.3.2); null: wrong proof length. */
const rootOfInclusion = async (
  index: number,
  size: number,
  leaf: Uint8Array,
  proof: readonly Uint8Array[],
): Promise<Uint8Array | null> => {
  const steps = index < size ? stepsOf(sidesOf(index, size - 1), proof) : null;
  return steps === null ? null : climb(leaf, steps);
};

interface Tree {
  readonly size: number;
  readonly root: Uint8Array;
}

/** Both roots computed from a consistency proof (RFC 9162 §2.1.4.2); null: wrong proof length. */
const rootsOfConsistency = async (before: Tree, size: number, proof: readonly Uint8Array[]) => {
  let [node, last] = [before.size - 1, size - 1];
  while (isOdd(node)) [node, last] = [half(node), half(last)];
  // A smaller tree that is a complete subtree is its own first hash.
  const [first, ...rest] = node === 0 ? [before.root, ...proof] : proof;
  const steps = stepsOf(sidesOf(node, last), rest);
  if (first === undefined || steps === null) return null;
  const old = steps.filter(({ side }) => side === 'left');
  return { old: await climb(first, old), now: await climb(first, steps) };
};

/** True if the smaller tree is a prefix of the larger one. */
const isConsistent = async (before: Tree, after: Tree, proof: readonly Uint8Array[]): Promise<boolean> => {
  if (before.size === after.size) return areEqual(before.root, after.root);
  const roots = before.size < after.size ? await rootsOfConsistency(before, after.size, proof) : null;
  return roots !== null && areEqual(roots.old, before.root) && areEqual(roots.now, after.root);
};

interface Note {
  /** The signed part of the note. */
  readonly text: string;
  readonly signatures: readonly { readonly name: string; readonly id: string; readonly bytes: Uint8Array }[];
}

/** @returns null if the text is not a note. */
const parseNote = (note: string): Note | null => {
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n')) return null;
  const signatures = note
    .slice(end + 2, -1)
    .split('\n')
    .map((line) => {
      const [, name = '', base64 = ''] = /^\u2014 (\S+) (\S+)$/.exec(line) ?? [];
      const bytes = bytesOf(base64);
      if (name === '' || bytes === null || bytes.length <= KEY_ID_BYTES) return null;
      return { name, id: hexOf(bytes.subarray(0, KEY_ID_BYTES)), bytes: bytes.subarray(KEY_ID_BYTES) };
    });
  return signatures.includes(null)
    ? null
    : { text: note.slice(0, end + 1), signatures: signatures.filter((one) => one !== null) };
};

interface Checkpoint extends Tree, Note {
  readonly origin: string;
}

/** @returns null if the note is not a checkpoint. */
const parseCheckpoint = (note: string): Checkpoint | null => {
  const parsed = parseNote(note);
  const [origin = '', size = '', base64 = ''] = parsed?.text.split('\n') ?? [];
  const root = bytesOf(base64);
  const isOne = origin !== '' && /^(?:0|[1-9]\d{0,14})$/.test(size) && root?.length === HASH_BYTES;
  return parsed !== null && isOne && root !== null ? { ...parsed, origin, size: Number(size), root } : null;
};

interface VerifierKey {
  readonly name: string;
  readonly id: string;
  readonly publicKey: Uint8Array<ArrayBuffer>;
}

/** Parses a key in the C2SP signed-note format: `<name>+<id>+<base64>`. @returns null if it is not an Ed25519 key. */
const parseVerifierKey = async (text: string): Promise<VerifierKey | null> => {
  const [, name = '', id = '', base64 = ''] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text) ?? [];
  const key = bytesOf(base64);
  if (key === null || key[0] !== ED25519 || key.length !== 1 + HASH_BYTES) return null;
  const digest = await sha256(encode(`${name}\n`), key);
  return hexOf(digest.subarray(0, KEY_ID_BYTES)) === id ? { name, id, publicKey: join(key.subarray(1)) } : null;
};

/** Verifies a note's signature (Ed25519, RFC 8032). @throws in a browser without Ed25519. */
const isSignedBy = async ({ text, signatures }: Note, { name, id, publicKey }: VerifierKey): Promise<boolean> => {
  const signature = signatures.find((one) => one.name === name && one.id === id);
  if (signature === undefined) return false;
  const key = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify']);
  return crypto.subtle.verify('Ed25519', key, join(signature.bytes), encode(text));
};

/** Checks the audit log in this browser and reports the results as sentences. */

export interface Check {
  readonly holds: boolean;
  readonly sentence: string;
  readonly detail: string;
}

/** Trust on first use: the first key seen for a log and the newest checkpoint that passed verification. */
interface TrustedLog {
  readonly vkey: string;
  /** ISO 8601. */
  readonly keyKeptAt: string;
  readonly note: string;
  readonly noteKeptAt: string;
}

const STORED = 'outbox-audit-logs';

const trustedLogs = (): Readonly<Record<string, TrustedLog>> => {
  try {
    return JSON.parse(localStorage.getItem(STORED) ?? '{}') as Record<string, TrustedLog>; // only this module writes it
  } catch {
    return {};
  }
};

/** @param origin the log's origin, from its checkpoints. */
const trustedLogOf = (origin: string): TrustedLog | null => trustedLogs()[origin] ?? null;

const trust = (origin: string, kept: TrustedLog): void =>
  localStorage.setItem(STORED, JSON.stringify({ ...trustedLogs(), [origin]: kept }));

/** Trusts the next key that is seen. Call this after the operator has confirmed a key change. */
export const forgetTrustedLog = (origin: string): void => {
  const { [origin]: _forgotten, ...others } = trustedLogs();
  localStorage.setItem(STORED, JSON.stringify(others));
};

/** Browsers compute hashes only in a secure context. */
export const canCheck = (): boolean => globalThis.crypto?.subtle !== undefined;

/** ab12 cd34 … */
const shortHash = (bytes: Uint8Array): string => {
  const groups = hexOf(bytes).match(/.{4}/g) ?? [];
  return `${groups.slice(0, 3).join(' ')} … ${groups.slice(-2).join(' ')}`;
};

const NO_CHECKPOINT: Check = {
  holds: false,
  sentence: 'The response contains no signed checkpoint',
  detail: 'A checkpoint consists of an origin, a size and a root, and their signatures.',
};

const checkSignature = async (checkpoint: Checkpoint, vkey: string): Promise<Check> => {
  const key = await parseVerifierKey(vkey);
  const isOwn = key !== null && key.name === checkpoint.origin;
  const holds = isOwn && (await isSignedBy(checkpoint, key));
  return {
    holds,
    sentence: holds
      ? 'The checkpoint is signed by the key of this log'
      : 'The checkpoint is not signed by the key that this browser has stored for the log',
    detail: `Ed25519, key ${key?.id ?? 'unreadable'}, ${checkpoint.origin}`,
  };
};

const sameJson = (one: unknown, other: unknown): boolean => {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) return one === other;
  const [left, right] = [Object.entries(one), other as Readonly<Record<string, unknown>>];
  return left.length === Object.keys(right).length && left.every(([name, value]) => sameJson(value, right[name]));
};

interface Leaf {
  readonly id?: string;
  readonly type?: string;
  readonly stream?: string;
  readonly revision?: number;
  readonly data?: unknown;
  readonly metadata?: { readonly occurredAt?: string; readonly actor?: string };
}

/** @returns null if the leaf is not JSON. */
const readLeaf = (leaf: string): Leaf | null => {
  try {
    return JSON.parse(leaf) as Leaf;
  } catch {
    return null;
  }
};

/** True if the proven leaf matches the displayed entry. */
const isOf = (leaf: Leaf | null, entry: AuditEntry): boolean => {
  const { id, type, stream, revision, data, metadata } = leaf ?? {};
  const shown = [entry.event_id, entry.type, entry.stream, entry.revision, entry.occurred_at, entry.data];
  return sameJson([id, type, stream, revision, metadata?.occurredAt, data], shown);
};

const checkEntry = async (proof: AuditProof, entry: AuditEntry): Promise<Check> => {
  const holds = isOf(readLeaf(proof.leaf), entry);
  return {
    holds,
    sentence: holds ? 'The displayed entry has this hash' : 'The proof belongs to a different entry',
    detail: shortHash(await leafHash(proof.leaf)),
  };
};

const checkInclusion = async (proof: AuditProof, { size, root }: Checkpoint): Promise<Check> => {
  const hashes = proof.hashes.map(bytesOf);
  const known = hashes.filter((hash) => hash !== null);
  const reached =
    known.length === hashes.length
      ? await rootOfInclusion(proof.leaf_index, size, await leafHash(proof.leaf), known)
      : null;
  const holds = areEqual(reached, root);
  const many = hashes.length === 1 ? '1 hash leads' : `${count(hashes.length)} hashes lead`;
  return {
    holds,
    sentence: holds
      ? `${many} from it to the root of ${count(size)} entries`
      : `The hashes do not lead to the root of ${count(size)} entries: the entry is not the one that was signed`,
    detail: shortHash(reached ?? root),
  };
};

/** Verifies the signature and that the log extends the stored checkpoint. Unsigned checkpoints are not compared. */
const checkCheckpoint = async (
  checkpoint: Checkpoint,
  kept: TrustedLog | null,
  vkey: string,
): Promise<readonly Check[]> => {
  const signature = await checkSignature(checkpoint, kept?.vkey ?? vkey);
  const before = kept === null ? null : parseCheckpoint(kept.note);
  return before === null || !signature.holds ? [signature] : [signature, await checkGrowth(before, checkpoint)];
};

const checkGrowth = async (before: Checkpoint, after: Checkpoint): Promise<Check> => {
  const { size } = before;
  const detail = `${shortHash(before.root)} at ${count(size)} entries`;
  const fails = {
    holds: false,
    sentence: `This is not the log that this browser saw with ${count(size)} entries`,
    detail,
  };
  if (size > after.size) return fails;
  let hashes: readonly (Uint8Array | null)[] = [];
  if (size > 0 && size < after.size) {
    const query = { from: size, to: after.size };
    hashes = (await request<AuditConsistency>('/v1/audit/consistency', { query })).hashes.map(bytesOf);
  }
  const known = hashes.filter((hash) => hash !== null);
  const holds = known.length === hashes.length && (size === 0 || (await isConsistent(before, after, known)));
  return holds
    ? { holds, sentence: `The log has only been extended since it had ${count(size)} entries`, detail }
    : fails;
};

/**
 * Verifies the proof of a displayed entry.
 * @param vkey the log's verifier key; used only if no key is stored yet.
 * @throws {ApiFault} and, in a browser without Ed25519, the error of its crypto API.
 */
export const checkProof = async (proof: AuditProof, entry: AuditEntry, vkey: string): Promise<readonly Check[]> => {
  const checkpoint = parseCheckpoint(proof.checkpoint);
  const ofEntry = await checkEntry(proof, entry);
  if (checkpoint === null) return [ofEntry, NO_CHECKPOINT];
  const kept = trustedLogOf(checkpoint.origin);
  return [ofEntry, await checkInclusion(proof, checkpoint), ...(await checkCheckpoint(checkpoint, kept, vkey))];
};

export interface LogCheck {
  readonly checks: readonly Check[];
  /** The stored trust state before this check. */
  readonly kept: TrustedLog | null;
  readonly size: number;
  /** Names of other signers. Their signatures are not verified here. */
  readonly cosigners: readonly string[];
}

/**
 * Verifies the newest checkpoint against the stored key and checkpoint, and stores it if every check passes.
 * @throws {ApiFault} and, in a browser without Ed25519, the error of its crypto API.
 */
export const checkLog = async ({ note, verifier_key: vkey }: AuditCheckpoint): Promise<LogCheck> => {
  const checkpoint = parseCheckpoint(note);
  if (checkpoint === null) return { checks: [NO_CHECKPOINT], kept: null, size: 0, cosigners: [] };
  const { origin, size, signatures } = checkpoint;
  const kept = trustedLogOf(origin);
  const checks = await checkCheckpoint(checkpoint, kept, vkey);
  if (checks.every(({ holds }) => holds)) {
    const now = new Date().toISOString();
    trust(origin, { vkey: kept?.vkey ?? vkey, keyKeptAt: kept?.keyKeptAt ?? now, note, noteKeptAt: now });
  }
  const cosigners = [...new Set(signatures.map(({ name }) => name))].filter((name) => name !== origin);
  return { checks, kept, size, cosigners };
};
