import { expect, test } from 'vitest';
import { createShares, type Place } from '../../../src/lib/async/semaphore.ts';

const poolOf = (max: number, perOrganization = max, perKey = max) => {
  const places = createShares({ max, shares: { organization: perOrganization, key: perKey } });
  const taken: Place[] = [];
  /** Takes as many places as it can. @returns the number, and the limit that was reached. */
  const takeAll = (organization: string, key: string): readonly [number, string] => {
    for (let count = 0; ; count += 1) {
      const place = places.take({ organization, key });
      if ('full' in place) return [count, place.full];
      taken.push(place);
    }
  };
  return { places, taken, takeAll };
};

test('a key gets its share, and another key of its organization what is left of theirs', () => {
  const { places, takeAll } = poolOf(1_000, 30, 20);
  expect(takeAll('acme', 'one')).toEqual([20, 'key']);
  expect(takeAll('acme', 'two')).toEqual([10, 'organization']);
  expect(takeAll('other', 'three')).toEqual([20, 'key']);
  expect(places.size()).toBe(50);
});

test('a lone owner gets half of the pool, and greedy ones never fill it for one that has nothing', () => {
  const { places, takeAll } = poolOf(1_000);
  expect(takeAll('a', 'a')).toEqual([500, 'organization']);
  expect(takeAll('b', 'b')).toEqual([250, 'organization']);
  for (const greedy of ['c', 'd', 'e', 'a', 'b']) takeAll(greedy, greedy);
  expect(places.take({ organization: 'new', key: 'new' })).toHaveProperty('release');
});

test('places are returned once, however often they are released', () => {
  const { places, taken, takeAll } = poolOf(10, 2);
  takeAll('acme', 'one');
  taken[0]?.release();
  taken[0]?.release();
  expect(places.size()).toBe(1);
  expect(takeAll('acme', 'two')).toEqual([1, 'organization']);
  for (const { release } of taken) release();
  expect(places.size()).toBe(0);
});

test('the pool itself can be full', () => {
  const { takeAll } = poolOf(1);
  expect(takeAll('a', 'a')).toEqual([1, 'all']);
  expect(takeAll('b', 'b')).toEqual([0, 'all']);
});
