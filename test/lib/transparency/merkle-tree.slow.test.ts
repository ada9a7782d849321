import { describe, expect, test } from 'vitest';
import {
  type CompactRange,
  consistencyRanges,
  EMPTY_RANGE,
  EMPTY_ROOT,
  extended,
  inclusionRanges,
  isConsistent,
  joined,
  leafHash,
  nodeHash,
  type Range,
  rootOfComplete,
  rootOfInclusion,
  rootOfLeaves,
  subtreesOf,
} from '../../../src/lib/transparency/merkle-tree.ts';

const SIZE_MAX = 130;
const leaves = Array.from({ length: SIZE_MAX + 1 }, (_, index) => leafHash(`leaf ${index}`));

/** A literal implementation of RFC 9162 §2.1.1. */
const mth = (hashes: readonly Buffer[]): Buffer => {
  if (hashes.length <= 1) return hashes[0] ?? EMPTY_ROOT;
  let k = 1;
  while (k * 2 < hashes.length) k *= 2;
  return nodeHash(mth(hashes.slice(0, k)), mth(hashes.slice(k)));
};

/** Remembers results by two numbers: the tests below ask thousands of times for the same few. */
const remembered = (compute: (one: number, other: number) => Buffer) => {
  const found = new Map<number, Buffer>();
  return (one: number, other: number): Buffer => {
    const key = one * 1_000 + other;
    const hash = found.get(key) ?? compute(one, other);
    found.set(key, hash);
    return hash;
  };
};

const rangeHash = remembered((from, to) =>
  joined(
    subtreesOf({ from, to }).map(({ level, index }) =>
      rootOfComplete(Buffer.concat(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level))),
    ),
  ),
);
const hashOf = ({ from, to }: Range): Buffer => rangeHash(from, to);
const rootFrom = remembered((from, size) => mth(leaves.slice(from, from + size)));
const rootAt = (size: number, from = 0): Buffer => rootFrom(from, size);

/** Each size up to the largest. */
const sizes = Array.from({ length: SIZE_MAX + 1 }, (_, size) => size);
const below = sizes.flatMap((size) => sizes.slice(0, size).map((number) => [number, size] as const));

describe('a Merkle tree', () => {
  test('hashes leaves and the empty tree as RFC 9162 does', () => {
    expect(EMPTY_ROOT.toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(leafHash('').toString('hex')).toBe('6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d');
  });

  test('has the same root by the texts of its leaves', () => {
    for (const size of sizes) {
      const texts = Array.from({ length: size }, (_, index) => `leaf ${index}`);
      expect(rootOfLeaves(texts)).toEqual(rootAt(size));
    }
  });

  test('has the same root from ranges, subtrees and leaf after leaf', () => {
    let range: CompactRange = EMPTY_RANGE;
    for (let size = 0; size <= SIZE_MAX; size += 1) {
      const root = rootAt(size);
      expect(hashOf({ from: 0, to: size })).toEqual(root);
      expect(joined(range.hashes)).toEqual(root);
      range = extended(range, leaves[size] as Buffer);
    }
  });

  test('grows by complete subtrees as by leaves', () => {
    let range: CompactRange = EMPTY_RANGE;
    for (let at = 0; at < 128; at += 16)
      range = extended(range, rootOfComplete(Buffer.concat(leaves.slice(at, at + 16))), 4);
    expect(range.size).toBe(128);
    expect(joined(range.hashes)).toEqual(rootAt(128));
  });

  test('proves each leaf of each size, and nothing else', () => {
    for (const [index, size] of below) {
      const proof = inclusionRanges(index, size).map(hashOf);
      const prove = (leaf: number, at: number) => rootOfInclusion(at, size, leaves[leaf] as Buffer, proof);
      expect(prove(index, index)).toEqual(rootAt(size));
      if (index + 1 < size) expect(prove(index, index + 1)).not.toEqual(rootAt(size));
      expect(prove(index + 1, index)).not.toEqual(rootAt(size));
    }
  });

  test('proves that it began as each smaller one, and as no other', () => {
    for (const [smaller, size] of below) {
      const proof = consistencyRanges(smaller, size).map(hashOf);
      const after = [size, rootAt(size)] as const;
      expect(isConsistent([smaller, rootAt(smaller)], after, proof)).toBe(true);
      expect(isConsistent(after, after, [])).toBe(true);
      expect(isConsistent([smaller, rootAt(smaller)], after, [...proof, EMPTY_ROOT])).toBe(false);
      expect(isConsistent([smaller, rootAt(smaller || 1, 1)], after, proof)).toBe(false);
      if (smaller > 0) expect(isConsistent([smaller, rootAt(smaller)], [size, rootAt(size, 1)], proof)).toBe(false);
    }
    expect(isConsistent([2, rootAt(2)], [1, rootAt(1)], [])).toBe(false);
  });

  test('refuses proofs of another length or of a leaf outside', () => {
    const proof = inclusionRanges(3, 9).map(hashOf);
    expect(rootOfInclusion(3, 9, leaves[3] as Buffer, proof.slice(1))).toBeNull();
    expect(rootOfInclusion(9, 9, leaves[9] as Buffer, [])).toBeNull();
  });

  test('of 2^50 leaves is described by few subtrees', () => {
    const ranges = [...inclusionRanges(2 ** 49 + 5, 2 ** 50 + 1), ...consistencyRanges(2 ** 49 + 1, 2 ** 50 + 1)];
    for (const range of ranges) expect(subtreesOf(range).length).toBeLessThanOrEqual(100);
    expect(subtreesOf({ from: 0, to: 2 ** 50 + 1 })).toEqual([
      { level: 50, index: 0 },
      { level: 0, index: 2 ** 50 },
    ]);
  });
});
