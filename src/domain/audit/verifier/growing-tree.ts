import {
  type CompactRange,
  extended,
  HASH_BYTES,
  joined,
  rootOfComplete,
  subtreesOf,
} from '../../../lib/transparency/transparency.ts';
import { BUNDLE_LEAVES } from '../export-format.ts';

/**
 * The tree of an export, built bundle by bundle in two versions: from the hashes that the export claims, and from the
 * recomputed leaf hashes. The versions are equal until something was changed. The one with the signed root is right.
 */

const LEVEL = Math.log2(BUNDLE_LEAVES);

/** Bundles inside which roots can still be computed. Takes 32 MB of hashes, for a million leaves. */
const BUNDLES_KEPT_MAX = 4_096;

interface Kept {
  readonly before: CompactRange;
  readonly hashes: Buffer;
}

export interface GrowingTree {
  /** Adds a bundle. @param recomputed null if its number of leaves differs from the claimed one. */
  add(claimed: Buffer, recomputed: Buffer | null): void;
  /** Continues at a later leaf. The root is wrong from here on. */
  skip(to: number): void;
  /** Leaves in the tree, including those before the export. */
  readonly size: number;
  /**
   * Root of the first `size` leaves; null if they end before the export, are no longer in memory, or are not complete
   * yet.
   */
  rootAt(size: number): Buffer | null;
  /** Root of the recomputed hashes; null if they are incomplete. */
  recomputedRoot(): Buffer | null;
}

const hashesIn = (hashes: Buffer): number => hashes.length / HASH_BYTES;

const extendedByLeaves = (range: CompactRange, hashes: Buffer, count: number): CompactRange => {
  let after = range;
  for (let at = 0; at < count; at += 1) {
    after = extended(after, hashes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES));
  }
  return after;
};

const extendedByBundle = (range: CompactRange, hashes: Buffer): CompactRange =>
  hashesIn(hashes) === BUNDLE_LEAVES && range.size % BUNDLE_LEAVES === 0
    ? extended(range, rootOfComplete(hashes), LEVEL)
    : extendedByLeaves(range, hashes, hashesIn(hashes));

/** @param edge the leaves before the export. */
export const createGrowingTree = (edge: CompactRange): GrowingTree => {
  let claimed = edge;
  let recomputed: CompactRange | null = edge;
  const kept: Kept[] = [];

  const grow = (hashes: Buffer, own: Buffer | null): void => {
    const before = claimed;
    claimed = extendedByBundle(before, hashes);
    if (recomputed === null || own === null) recomputed = null;
    else if (recomputed === before && own.equals(hashes)) recomputed = claimed;
    else recomputed = extendedByBundle(recomputed, own);
  };

  return {
    add: (hashes, own) => {
      kept.push({ before: claimed, hashes });
      if (kept.length > BUNDLES_KEPT_MAX) kept.shift();
      grow(hashes, own);
    },
    skip: (to) => {
      claimed = { size: to, hashes: subtreesOf({ from: 0, to }).map(() => Buffer.alloc(HASH_BYTES)) };
      recomputed = null;
      kept.length = 0;
    },
    get size() {
      return claimed.size;
    },
    rootAt: (size) => {
      if (size === claimed.size) return joined(claimed.hashes);
      const bundle = kept.findLast(({ before }) => before.size <= size);
      if (bundle === undefined || size > claimed.size) return null;
      return joined(extendedByLeaves(bundle.before, bundle.hashes, size - bundle.before.size).hashes);
    },
    recomputedRoot: () => (recomputed === null ? null : joined(recomputed.hashes)),
  };
};
