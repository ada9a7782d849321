import { expect, test } from 'vitest';
import { leafHash, rootOfInclusion, rootOfLeaves } from '../../../src/lib/transparency/merkle-tree.ts';

test('a proof of the last leaf proves no leaf behind it', () => {
  const leaves = ['a', 'b', 'c', 'd', 'e'];
  const proof = [rootOfLeaves(leaves.slice(0, 4))];
  expect(rootOfInclusion(4, 5, leafHash('e'), proof)).toEqual(rootOfLeaves(leaves));
  for (const index of [5, 6, 7, 8]) expect(rootOfInclusion(index, 5, leafHash('e'), proof)).toBeNull();
  expect(rootOfInclusion(0, 0, leafHash('e'), [])).toBeNull();
});
