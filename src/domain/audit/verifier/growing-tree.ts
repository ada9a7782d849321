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
 * The tree of an export, bundle after bundle: once of the leaves' hashes as the lines behind them say them, and once as
 * they are recomputed. These are the same until something was changed, and whichever has the signed root is right.
 */

const LEVEL = Math.log2(BUNDLE_LEAVES);

/** Bundles of which roots at sizes inside can be asked for: 32 MB of hashes, for a million leaves. */
const BUNDLES_KEPT_MAX = 4_096;

interface Kept {
  readonly before: CompactRange;
  readonly hashes: Buffer;
}

export interface GrowingTree {
  /** Adds a bundle. @param recomputed null: it has another number of leaves than the line says. */
  add(claimed: Buffer, recomputed: Buffer | null): void;
  /** Goes on at a later leaf. The root is wrong from here on. */
  skip(to: number): void;
  /** Leaves of the tree, those before the export included. */
  readonly size: number;
  /** The root of the first leaves; null: they end before the export, too far back or not yet. */
  rootAt(size: number): Buffer | null;
  /** The root by the recomputed hashes; null: there is none. */
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
