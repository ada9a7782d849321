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
export const bytesOf = (base64: string): Uint8Array | null => {
  try {
    const text = atob(base64);
    return btoa(text) === base64 ? Uint8Array.from(text, (character) => character.charCodeAt(0)) : null;
  } catch {
    return null;
  }
};

export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
export const areEqual = (one: Uint8Array | null, other: Uint8Array | null): boolean =>
  one !== null && other !== null && hexOf(one) === hexOf(other);

const sha256 = async (...parts: readonly Uint8Array[]): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', join(...parts)));

/** `HASH(0x00 || leaf)` */
export const leafHash = (leaf: string): Promise<Uint8Array> => sha256(Uint8Array.of(0), encode(leaf));
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
export const rootOfInclusion = async (
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
export const isConsistent = async (before: Tree, after: Tree, proof: readonly Uint8Array[]): Promise<boolean> => {
  if (before.size === after.size) return areEqual(before.root, after.root);
  const roots = before.size < after.size ? await rootsOfConsistency(before, after.size, proof) : null;
  return roots !== null && areEqual(roots.old, before.root) && areEqual(roots.now, after.root);
};

export interface Note {
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

export interface Checkpoint extends Tree, Note {
  readonly origin: string;
}

/** @returns null if the note is not a checkpoint. */
export const parseCheckpoint = (note: string): Checkpoint | null => {
  const parsed = parseNote(note);
  const [origin = '', size = '', base64 = ''] = parsed?.text.split('\n') ?? [];
  const root = bytesOf(base64);
  const isOne = origin !== '' && /^(?:0|[1-9]\d{0,14})$/.test(size) && root?.length === HASH_BYTES;
  return parsed !== null && isOne && root !== null ? { ...parsed, origin, size: Number(size), root } : null;
};

export interface VerifierKey {
  readonly name: string;
  readonly id: string;
  readonly publicKey: Uint8Array<ArrayBuffer>;
}

/** Parses a key in the C2SP signed-note format: `<name>+<id>+<base64>`. @returns null if it is not an Ed25519 key. */
export const parseVerifierKey = async (text: string): Promise<VerifierKey | null> => {
  const [, name = '', id = '', base64 = ''] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text) ?? [];
  const key = bytesOf(base64);
  if (key === null || key[0] !== ED25519 || key.length !== 1 + HASH_BYTES) return null;
  const digest = await sha256(encode(`${name}\n`), key);
  return hexOf(digest.subarray(0, KEY_ID_BYTES)) === id ? { name, id, publicKey: join(key.subarray(1)) } : null;
};

/** Verifies a note's signature (Ed25519, RFC 8032). @throws in a browser without Ed25519. */
export const isSignedBy = async (
  { text, signatures }: Note,
  { name, id, publicKey }: VerifierKey,
): Promise<boolean> => {
  const signature = signatures.find((one) => one.name === name && one.id === id);
  if (signature === undefined) return false;
  const key = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify']);
  return crypto.subtle.verify('Ed25519', key, join(signature.bytes), encode(text));
};
