import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  BODY_LIMITS,
  createBodyBudget,
  type Reservation,
  SMALL_BODY_BYTES_MAX,
} from '../../../src/lib/http/body-budget.ts';

const LARGE = 24_000_000;
const budgetOf = (patienceMs = 200) => createBodyBudget({ ...BODY_LIMITS, patienceMs });

const hold = async (budget: ReturnType<typeof budgetOf>, organization: string, bytes = LARGE): Promise<Reservation> => {
  const reservation = await budget.reserve(organization, bytes, { waits: false });
  if (reservation === null) throw new Error('there is no room');
  return reservation;
};

test('eight bodies of 24 MB get room one after another, and none is refused', async () => {
  const budget = budgetOf(5_000);
  let most = 0;
  const done = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const room = await budget.reserve('a', LARGE, { waits: true });
      most = Math.max(most, budget.held());
      await sleep(20);
      room?.release();
      return room !== null;
    }),
  );
  expect(done).toEqual(Array(8).fill(true));
  expect(most).toBeLessThanOrEqual(BODY_LIMITS.organizationBytesMax);
  expect(budget.held()).toBe(0);
});

test('an organization that takes all the room it can leaves some for a body of another one, and for small ones', async () => {
  const budget = budgetOf();
  for (let at = 0; at < 3; at += 1) await hold(budget, 'a');
  expect(await budget.reserve('a', LARGE, { waits: false })).toBeNull();
  await hold(budget, 'b');
  await hold(budget, 'a', 20_000);
});

test('organizations that take all the room they can for small bodies leave some for a small one of another', async () => {
  const budget = budgetOf();
  const takeAll = async (organization: string): Promise<number> => {
    let count = 0;
    while ((await budget.reserve(organization, SMALL_BODY_BYTES_MAX, { waits: false })) !== null) count += 1;
    return count * SMALL_BODY_BYTES_MAX;
  };
  for (const organization of ['a', 'b', 'c']) await hold(budget, organization);
  expect(await takeAll('d')).toBeLessThanOrEqual(BODY_LIMITS.organizationSmallBytesMax);
  for (const organization of ['e', 'f', 'g']) await takeAll(organization);
  await hold(budget, 'h', 20_000);
});

test('an organization whose small bodies used up its share gets room when one of them ends', async () => {
  const budget = budgetOf(5_000);
  const first = await hold(budget, 'a', SMALL_BODY_BYTES_MAX);
  while (budget.reserveNow('a', SMALL_BODY_BYTES_MAX) !== null);
  const waiting = budget.reserve('a', SMALL_BODY_BYTES_MAX, { waits: true });
  first.release();
  expect(await waiting).not.toBeNull();
});

test('organizations take turns, however many bodies one of them has waiting', async () => {
  const budget = budgetOf(5_000);
  const first = [await hold(budget, 'a'), await hold(budget, 'a'), await hold(budget, 'b'), await hold(budget, 'c')];
  const served: string[] = [];
  const ask = async (organization: string): Promise<void> => {
    const room = await budget.reserve(organization, LARGE, { waits: true });
    served.push(organization);
    await sleep(5);
    room?.release();
  };
  const all = ['a', 'a', 'a', 'a', 'b', 'd'].map(ask);
  await sleep(10);
  for (const one of first) one.release();
  await Promise.all(all);
  expect(served).toEqual(['a', 'b', 'd', 'a', 'a', 'a']);
  expect(budget.held()).toBe(0);
});

test('a body that waits too long is refused, holds no memory and blocks no other', async () => {
  const budget = budgetOf(50);
  const held = [await hold(budget, 'a'), await hold(budget, 'a'), await hold(budget, 'a'), await hold(budget, 'b')];
  expect(await budget.reserve('c', LARGE, { waits: true })).toBeNull();
  const gone = new AbortController();
  const waiting = budget.reserve('c', LARGE, { waits: true, signal: gone.signal });
  const behind = budget.reserve('d', 10_000_000, { waits: true });
  gone.abort();
  expect(await waiting).toBeNull();
  expect(await behind).not.toBeNull();
  for (const one of held) one.release();
  expect(budget.held()).toBe(10_000_000);
});

test('no more bodies wait than can get their turn', async () => {
  const budget = budgetOf(300);
  for (let at = 0; at < 3; at += 1) await hold(budget, 'a');
  const asked = Array.from({ length: 70 }, () => budget.reserve('a', LARGE, { waits: true }));
  const quick = await Promise.race([asked.at(-1), sleep(100, 'still waiting')]);
  expect(quick).toBeNull();
  await Promise.all(asked);
});

test('any number of organizations leaves a place to wait for one that has none', async () => {
  const budget = budgetOf(5_000);
  const held = await hold(budget, 'a');
  const full = [await hold(budget, 'b'), await hold(budget, 'c'), await hold(budget, 'd')];
  const waiting = Array.from({ length: 20 * 64 }, (_, at) => budget.reserve(`${at % 20}`, LARGE, { waits: true }));
  const other = budget.reserve('other', LARGE, { waits: true });
  held.release();
  for (const one of full) one.release();
  for (const room of waiting) room.then((one) => one?.release());
  expect(await other).not.toBeNull();
});

test('room that is returned in part is available to others', async () => {
  const budget = budgetOf();
  const room = await hold(budget, 'a', 80_000_000);
  expect(await budget.reserve('a', LARGE, { waits: false })).toBeNull();
  room.shrink(1_000);
  await hold(budget, 'a', 70_000_000);
  room.release();
  room.release();
  expect(budget.held()).toBe(70_000_000);
});
