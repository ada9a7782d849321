import { hash } from 'node:crypto';

/**
 * Merkle trees of RFC 9162 §2.1: hashes of 32 bytes, leaves numbered from 0. A tree of `size` leaves is described by
 * the hashes of ranges of leaves, and each range by its complete subtrees: 2^level leaves from a multiple of 2^level.
 */

export const HASH_BYTES = 32;
const NODE = Buffer.from([1]);

/** SHA-256. Going through a binary string halves its cost. */
const hashed = (data: string | Uint8Array): Buffer => Buffer.from(hash('sha256', data, 'binary'), 'latin1');

/** `HASH(0x00 || leaf)`, of the leaf's UTF-8 bytes. */
export const leafHash = (leaf: string): Buffer => hashed(`\0${leaf}`);

/** `HASH(0x01 || left || right)` */
export const nodeHash = (left: Uint8Array, right: Uint8Array): Buffer => hashed(Buffer.concat([NODE, left, right]));

/** The root of no leaves: `HASH()`. */
export const EMPTY_ROOT = hashed('');

/** Leaves from `from` (inclusive) to `to` (exclusive). */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** A complete subtree: the leaves from `index * 2^level` on. Level 0 is a leaf. */
export interface Subtree {
  readonly level: number;
  readonly index: number;
}

const subtreeAt = (from: number, to: number): Subtree => {
  let level = 0;
  let width = 1;
  while (from % (width * 2) === 0 && from + width * 2 <= to) {
    width *= 2;
    level += 1;
  }
  return { level, index: from / width };
};

/** The complete subtrees of a range, left to right: at most two for each level. */
export const subtreesOf = ({ from, to }: Range): readonly Subtree[] => {
  const subtrees: Subtree[] = [];
  for (let at = from; at < to; ) {
    const subtree = subtreeAt(at, to);
    subtrees.push(subtree);
    at += 2 ** subtree.level;
  }
  return subtrees;
};

/** `MTH` of leaves whose complete subtrees have these hashes, left to right. */
export const joined = (hashes: readonly Uint8Array[]): Buffer => {
  const last = hashes.at(-1);
  if (last === undefined) return EMPTY_ROOT;
  return hashes.slice(0, -1).reduceRight<Buffer>((right, left) => nodeHash(left, right), Buffer.from(last));
};

/** Largest power of two below a size above 1 (`k` in RFC 9162 §2.1.1). */
const splitOf = (size: number): number => {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
};

/** The path down a tree to a range that `isEnd` accepts: the siblings along the path, the last one first. */
const wayDown = (whole: Range, isEnd: (range: Range) => boolean, isLeft: (middle: number) => boolean) => {
  const siblings: Range[] = [];
  let { from, to } = whole;
  while (!isEnd({ from, to })) {
    const middle = from + splitOf(to - from);
    if (isLeft(middle)) {
      siblings.unshift({ from: middle, to });
      to = middle;
    } else {
      siblings.unshift({ from, to: middle });
      from = middle;
    }
  }
  return { end: { from, to }, siblings };
};

/** The ranges whose hashes prove that a leaf is in a tree, from the leaf upwards (RFC 9162 §2.1.3.1). */
export const inclusionRanges = (index: number, size: number): readonly Range[] =>
  wayDown(
    { from: 0, to: size },
    ({ from, to }) => to - from <= 1,
    (middle) => index < middle,
  ).siblings;

/** The ranges whose hashes prove that a tree began as a smaller one (RFC 9162 §2.1.4.1). None for 0 or equal sizes. */
export const consistencyRanges = (smaller: number, size: number): readonly Range[] => {
  if (smaller === 0 || smaller === size) return [];
  const { end, siblings } = wayDown(
    { from: 0, to: size },
    ({ to }) => to === smaller,
    (middle) => smaller <= middle,
  );
  // The verifier already knows this hash if it covers the whole smaller tree.
  return end.from === 0 ? siblings : [end, ...siblings];
};

/** The root computed from a proof of inclusion (RFC 9162 §2.1.3.2); null if the proof has the wrong length. */
export const rootOfInclusion = (
  index: number,
  size: number,
  leaf: Uint8Array,
  proof: readonly Uint8Array[],
): Buffer | null => {
  const ranges = inclusionRanges(index, size);
  if (index >= size || ranges.length !== proof.length) return null;
  return ranges.reduce<Buffer>((root, { from }, step) => {
    const sibling = proof[step] as Uint8Array;
    return from > index ? nodeHash(root, sibling) : nodeHash(sibling, root);
  }, Buffer.from(leaf));
};

/** Both roots computed from a proof of consistency. */
const rootsOfConsistency = (
  smaller: number,
  smallerRoot: Buffer,
  ranges: readonly Range[],
  proof: readonly Buffer[],
) => {
  const isKnown = ranges.every(({ from }) => from >= smaller);
  const first = isKnown ? smallerRoot : (proof[0] as Buffer);
  let [before, after] = [first, first];
  for (let step = isKnown ? 0 : 1; step < ranges.length; step += 1) {
    const sibling = proof[step] as Buffer;
    const isBefore = (ranges[step] as Range).from < smaller;
    if (isBefore) before = nodeHash(sibling, before);
    after = isBefore ? nodeHash(sibling, after) : nodeHash(after, sibling);
  }
  return { before, after };
};

/** True if a tree with one root is an extension of the smaller one with another (RFC 9162 §2.1.4.2). */
export const isConsistent = (
  [smaller, smallerRoot]: readonly [size: number, root: Buffer],
  [size, root]: readonly [size: number, root: Buffer],
  proof: readonly Buffer[],
): boolean => {
  const ranges = smaller > size ? null : consistencyRanges(smaller, size);
  if (ranges?.length !== proof.length) return false;
  if (smaller === 0) return smallerRoot.equals(EMPTY_ROOT);
  if (smaller === size) return smallerRoot.equals(root);
  const { before, after } = rootsOfConsistency(smaller, smallerRoot, ranges, proof);
  return before.equals(smallerRoot) && after.equals(root);
};

/** The tree so far, as the hashes of the complete subtrees of its leaves: one hash for each 1 bit of its size. */
export interface CompactRange {
  readonly size: number;
  readonly hashes: readonly Buffer[];
}

export const EMPTY_RANGE: CompactRange = { size: 0, hashes: [] };

/** Adds a complete subtree of 2^level leaves. The size before must be a multiple of 2^level. */
export const extended = ({ size, hashes }: CompactRange, subtree: Buffer, level = 0): CompactRange => {
  const width = 2 ** level;
  const kept = [...hashes];
  let top = subtree;
  for (let rest = size / width; rest % 2 === 1; rest = (rest - 1) / 2) top = nodeHash(kept.pop() as Buffer, top);
  return { size: size + width, hashes: [...kept, top] };
};

/**
 * Root of complete subtrees of equal size, a power of two of them, by their concatenated hashes. (A hash as a binary
 * string costs a third of one in a buffer of its own.)
 */
export const rootOfComplete = (hashes: Buffer): Buffer => {
  const node = Buffer.alloc(1 + 2 * HASH_BYTES, 1);
  const level = Buffer.from(hashes);
  for (let bytes = level.length; bytes > HASH_BYTES; bytes /= 2) {
    for (let at = 0; at < bytes; at += 2 * HASH_BYTES) {
      level.copy(node, 1, at, at + 2 * HASH_BYTES);
      level.write(hash('sha256', node, 'binary'), at / 2, 'latin1');
    }
  }
  return level.subarray(0, HASH_BYTES);
};

/** Buffer for two hashes. As binary strings, hashes cost a third of buffers of their own. */
const FEW_NODE = Buffer.alloc(1 + 2 * HASH_BYTES, 1);

/** @param hashes of leaves, as binary strings, from `from` (inclusive) to `to` (exclusive). At least one. */
const rootOfRange = (hashes: readonly string[], from: number, to: number): string => {
  if (to - from === 1) return hashes[from] as string;
  const middle = from + splitOf(to - from);
  const left = rootOfRange(hashes, from, middle);
  const right = rootOfRange(hashes, middle, to);
  FEW_NODE.write(left, 1, 'latin1');
  FEW_NODE.write(right, 1 + HASH_BYTES, 'latin1');
  return hash('sha256', FEW_NODE, 'binary');
};

/** `MTH` of a few leaves by their texts. */
export const rootOfLeaves = (leaves: readonly string[]): Buffer => {
  if (leaves.length === 0) return EMPTY_ROOT;
  const hashes = leaves.map((leaf) => hash('sha256', `\0${leaf}`, 'binary'));
  return Buffer.from(rootOfRange(hashes, 0, hashes.length), 'latin1');
};

/** Roots of the complete subtrees of leaves by their concatenated hashes. Joined, they are the root of all leaves. */
export const completeRoots = (hashes: Buffer): readonly Buffer[] =>
  subtreesOf({ from: 0, to: hashes.length / HASH_BYTES }).map(({ level, index }) => {
    const bytes = 2 ** level * HASH_BYTES;
    return rootOfComplete(hashes.subarray(index * bytes, (index + 1) * bytes));
  });
