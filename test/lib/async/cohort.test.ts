import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Cohort, createCohort } from '../../../src/lib/async/batcher.ts';

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await nextTurn();
};

/** Names of members, grouped by the turn in which they ran. */
const runAll = async (cohort: Cohort, members: readonly (readonly [name: string, bytes?: number])[]) => {
  const ran: string[][] = [];
  let current: string[] = [];
  for (const [name, bytes] of members) cohort.join(() => current.push(name), bytes);
  for (let turn = 0; turn < members.length; turn += 1) {
    await nextTurn();
    if (current.length > 0) ran.push(current);
    current = [];
  }
  return ran;
};

describe('a cohort', () => {
  test('runs nothing in the turn in which it is joined, and everything in the next, in order', async () => {
    const cohort = createCohort();
    const ran: number[] = [];
    for (const member of [1, 2, 3]) cohort.join(() => ran.push(member));
    await Promise.resolve();
    expect(ran).toEqual([]);
    await nextTurn();
    expect(ran).toEqual([1, 2, 3]);
  });

  test('runs in step: each stage of all members before the next stage of any', async () => {
    const cohort = createCohort();
    const ran: string[] = [];
    const work = async (name: string): Promise<void> => {
      await new Promise<void>((next) => cohort.join(next));
      for (const stage of ['parse', 'decide', 'answer']) {
        ran.push(`${stage} ${name}`);
        await Promise.resolve();
      }
    };
    await Promise.all(['a', 'b'].map(work));
    expect(ran).toEqual(['parse a', 'parse b', 'decide a', 'decide b', 'answer a', 'answer b']);
  });

  test('stays within its limits of members and bytes: the rest runs in later turns', async () => {
    const three = createCohort({ membersMax: 3 });
    expect(await runAll(three, [['a'], ['b'], ['c'], ['d'], ['e'], ['f'], ['g']])).toEqual([
      ['a', 'b', 'c'],
      ['d', 'e', 'f'],
      ['g'],
    ]);
    const small = createCohort({ bytesMax: 10 });
    expect(await runAll(small, [['a', 4], ['b', 6], ['c', 1], ['large', 99], ['d', 10], ['e'], ['f', 1]])).toEqual([
      ['a', 'b'],
      ['c'],
      ['large'],
      ['d', 'e'],
      ['f'],
    ]);
  });

  test('accepts members while it runs: they get a turn of their own', async () => {
    const cohort = createCohort();
    const ran: string[] = [];
    cohort.join(() => {
      ran.push('first');
      cohort.join(() => ran.push('second'));
    });
    await nextTurn();
    expect(ran).toEqual(['first']);
    await turns(2);
    expect(ran).toEqual(['first', 'second']);
  });

  test('yields turns to others in between, however many join', async () => {
    const cohort = createCohort();
    let ran = 0;
    for (let member = 0; member < 64_000; member += 1) cohort.join(() => (ran += 1));
    await nextTurn();
    expect(ran).toBe(64);
    await turns(999);
    expect(ran).toBe(64_000);
  });
});
