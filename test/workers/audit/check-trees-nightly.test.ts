import { expect, onTestFinished, test } from 'vitest';
import type { Logger } from '../../../src/lib/async/async.ts';
import type { TreeCheckResult } from '../../../src/projections/audit/check/check-trees.ts';
import { checkTreesNightly } from '../../../src/workers/audit/audit-jobs.ts';
import { createSteppableSystem } from '../../support/system.ts';

const HOUR_MS = 3_600_000;

const SOUND: TreeCheckResult = {
  ...{ verdict: 'no fault', faults: [], faultCount: 0, isLogChanged: false, doubts: [] },
  ...{
    since: null,
    trees: 1,
    leaves: 10,
    checkpoints: 1,
    cosignatures: 0,
    contents: 0,
    replies: 0,
    withoutHashes: 0,
    clients: 0,
    anchored: { trees: 1, leaves: 10, by: ['witness.example'] },
    disputed: [],
  },
};
const FAULTY: TreeCheckResult = { ...SOUND, verdict: 'faults', faults: ['leaf 3 of org_mine'], faultCount: 2 };
const UNANCHORED: TreeCheckResult = { ...SOUND, verdict: 'consistent', anchored: { trees: 0, leaves: 0, by: [] } };
const UNDECIDED: TreeCheckResult = { ...SOUND, verdict: 'undecided', doubts: ['a partition is detached'] };

/** Starts the worker at a time, with the results of its successive checks. */
const start = (startsAt: string, results: readonly (TreeCheckResult | Error)[] = [], isLeader = () => true) => {
  const system = createSteppableSystem({ start: startsAt });
  const checkedAt: string[] = [];
  const counted: number[] = [];
  const said: string[] = [];
  const at = (level: string) => (fields: object, sentence: string) => {
    said.push(`${level}${'alarm' in fields ? ` ${fields.alarm}` : ''}: ${sentence}`);
  };
  const logger: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  const ending = new AbortController();
  const check = async (): Promise<TreeCheckResult> => {
    const result = results[checkedAt.length] ?? SOUND;
    checkedAt.push(system.now().toISOString());
    if (result instanceof Error) throw result;
    return result;
  };
  const onChecked = (faults: number) => counted.push(faults);
  const work = checkTreesNightly({ hour: 3, check, onChecked, leadership: { isLeader }, system, logger });
  const ended = work(ending.signal, () => undefined);
  const stop = (): Promise<void> => {
    ending.abort();
    return ended;
  };
  onTestFinished(stop);
  return { system, checkedAt, counted, said, stop };
};

test('the nightly check of the audit trees runs when the hour begins, once a day', async () => {
  const { system, checkedAt } = start('2026-01-01T22:00:00.000Z');
  await system.advance(4 * HOUR_MS);
  expect(checkedAt).toEqual([]);
  await system.advance(48 * HOUR_MS);
  expect(checkedAt).toEqual(['2026-01-02T03:00:00.000Z', '2026-01-03T03:00:00.000Z']);
});

test('the nightly check is not repeated after a restart within the hour', async () => {
  for (const startsAt of ['2026-01-01T03:00:00.000Z', '2026-01-01T03:30:00.000Z']) {
    const { system, checkedAt } = start(startsAt);
    await system.advance(20 * HOUR_MS);
    expect(checkedAt).toEqual([]);
    await system.advance(4 * HOUR_MS);
    expect(checkedAt).toEqual(['2026-01-02T03:00:00.000Z']);
  }
});

test('the nightly check runs only in the leading process', async () => {
  const { system, checkedAt } = start('2026-01-01T02:00:00.000Z', [], () => false);
  await system.advance(30 * HOUR_MS);
  expect(checkedAt).toEqual([]);
});

test('the nightly check logs each fault with an alarm, counts them, and continues', async () => {
  const results = [FAULTY, UNDECIDED, new Error('the log is away'), UNANCHORED, SOUND];
  const { system, counted, said } = start('2026-01-01T02:00:00.000Z', results);
  await system.advance(2 * HOUR_MS);
  expect(counted).toEqual([2]);
  expect(said).toEqual([
    'error audit: a check of the audit trees found a fault: leaf 3 of org_mine',
    'error audit: checked the audit trees: found faults',
  ]);
  await system.advance(48 * HOUR_MS);
  expect(said.slice(2)).toEqual(['warn: could not verify the audit trees', 'warn: could not check the audit trees']);
  // An undecided check does not change the number of faults.
  expect(counted).toEqual([2]);
  await system.advance(24 * HOUR_MS);
  expect(said.at(-1)).toBe('info: checked the audit trees: consistent in itself, not compared with a witness');
  expect(counted).toEqual([2, 0]);
  await system.advance(24 * HOUR_MS);
  expect(said.at(-1)).toBe('info: checked the audit trees: no fault');
  expect(counted).toEqual([2, 0, 0]);
});
