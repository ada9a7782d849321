import { describe, expect, test } from 'vitest';
import { batched, createRecentlyQueued, type DueMail, dueOf, keyOf } from '../../../src/workers/delivery/due.ts';
import { createSteppableSystem } from '../../support/system.ts';

/** How long a message is assumed to be in the queue, and a row that the log contradicts to be stale. */
const QUEUED_MS = 4_000;
const NOT_DUE_MS = 60_000;

const ALL: DueMail = { messageId: 'msg_1', destination: null };
const AT_A: DueMail = { messageId: 'msg_1', destination: 'a.test' };
const AT_B: DueMail = { messageId: 'msg_1', destination: 'b.test' };

const open = () => {
  const system = createSteppableSystem();
  const recently = createRecentlyQueued(system);
  const now = (): string => system.now().toISOString();
  return { system, recently, now };
};

describe('deliveries that were queued a moment ago', () => {
  test('are known for four seconds, separately for each destination', async () => {
    const { system, recently, now } = open();
    const dueAt = now();
    expect(recently.has(AT_A, dueAt)).toBe(false);
    recently.add([AT_A]);
    expect([AT_A, AT_B, ALL].map((due) => recently.has(due, dueAt))).toEqual([true, false, false]);
    await system.advance(QUEUED_MS - 1);
    expect(recently.has(AT_A, dueAt)).toBe(true);
    await system.advance(1);
    expect(recently.has(AT_A, dueAt)).toBe(false);
  });

  test('are known longer if they are queued again, and others are not', async () => {
    const { system, recently, now } = open();
    const dueAt = now();
    recently.add([AT_A, AT_B]);
    await system.advance(QUEUED_MS - 1);
    recently.add([AT_A]);
    await system.advance(1);
    expect([AT_A, AT_B].map((due) => recently.has(due, dueAt))).toEqual([true, false]);
  });

  test('are unknown again if they became due since: a retry is queued at once', async () => {
    const { system, recently, now } = open();
    recently.add([ALL]);
    expect(recently.has(ALL, now())).toBe(true);
    await system.advance(1);
    expect(recently.has(ALL, now())).toBe(false);
  });

  test('are known after a release too, which has no due time', () => {
    const { recently } = open();
    recently.add([ALL]);
    expect(recently.has(ALL, '')).toBe(true);
  });
});

describe('a delivery that the log does not have as due', () => {
  test('is known for a minute', async () => {
    const { system, recently, now } = open();
    const dueAt = now();
    recently.addNotDue(ALL, dueAt);
    await system.advance(NOT_DUE_MS - 1);
    expect(recently.has(ALL, dueAt)).toBe(true);
    recently.addNotDue(AT_A, dueAt);
    expect(recently.has(ALL, dueAt)).toBe(true);
    await system.advance(1);
    expect([ALL, AT_A].map((due) => recently.has(due, dueAt))).toEqual([false, true]);
  });

  test('is unknown if it became due after the read of the log, and if a release makes it due', async () => {
    const { system, recently, now } = open();
    const since = now();
    await system.advance(10);
    const dueAt = now();
    await system.advance(10);
    recently.addNotDue(ALL, since); // the read took 20 ms
    expect([since, dueAt, ''].map((due) => recently.has(ALL, due))).toEqual([true, false, false]);
  });
});

test.each([0, 1, 99, 100, 101, 200, 250])('%i due deliveries are queued in order, 100 in a job, each once', (count) => {
  const due = Array.from({ length: count }, (_, index) => ({ messageId: `msg_${index}`, destination: null }));
  const jobs = batched(due);
  expect(jobs.flatMap(({ data }) => data.due)).toEqual(due);
  expect(jobs).toHaveLength(Math.ceil(count / 100));
  for (const { data } of jobs) expect(data.due.length).toBeLessThanOrEqual(100);
});

test('a message is due at each recipient domain once, and at once for the sandbox or a single server', () => {
  const of = { messageId: 'msg_1', organizationId: 'org_1', domains: ['a.test', 'b.test', 'a.test'] };
  const many = { providerOf: async (domain: string) => domain };
  const together = [{ messageId: 'msg_1', organizationId: 'org_1', destination: null }];
  expect(dueOf({ ...of, environment: 'live' }, undefined)).toEqual(together);
  expect(dueOf({ ...of, environment: 'test' }, many)).toEqual(together);
  const each = dueOf({ ...of, environment: 'live' }, many);
  expect(each).toEqual(
    ['a.test', 'b.test'].map((destination) => ({ messageId: 'msg_1', organizationId: 'org_1', destination })),
  );
  expect(new Set([...together, ...each].map(keyOf)).size).toBe(3);
});
