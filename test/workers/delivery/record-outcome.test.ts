import { expect, test } from 'vitest';
import { load } from '../../../src/commands/execute.ts';
import { AppendOutcomeUnknown, type EventStore } from '../../../src/domain/kernel/event-store.ts';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import { message } from '../../../src/domain/message/message.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { claimDue } from '../../../src/workers/delivery/claim.ts';
import { createUnrecordedOutcomes, postponed, recordOutcome } from '../../../src/workers/delivery/record.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { openService } from '../service.ts';

const TIMES = { attemptMs: 10_000, leaseMs: 30_000 };

/** A claimed attempt, recorded in a log that fails for a while. Sleeps only advance the test's own clock. */
const open = async (fault: (elapsedMs: number, tries: number) => Error | null, randomByte: number | null = null) => {
  const { context, dependencies, send } = closedAfterTest(await openService());
  const messageId = await send('ann@example.org');
  let ms = 0;
  let tries = 0;
  const system = {
    ...context.system,
    monotonicMs: () => ms,
    sleep: async (sleptMs: number) => {
      ms += sleptMs;
    },
    ...(randomByte === null ? {} : { randomBytes: (length: number) => new Uint8Array(length).fill(randomByte) }),
  };
  const parts = { ...{ store: context.store, contents: dependencies.contents, system, times: TIMES } };
  const known = await load(context.store, message, messageStream(messageId));
  const claim = await claimDue(
    { ...parts, sendingDomains: { deletedBy: () => null }, recentlyQueued: { addNotDue: () => undefined } },
    { messageId, destination: null },
    known,
    new AbortController().signal,
  );
  if (claim === null) throw new Error('nothing was claimed');
  const append: EventStore['append'] = async (one) => {
    tries += 1;
    const error = fault(ms, tries);
    if (error !== null) throw error;
    return context.store.append(one);
  };
  const unrecorded = createUnrecordedOutcomes(system);
  const ending = new AbortController();
  let noted = 0;
  const logWatch = {
    noteAway: () => {
      noted += 1;
    },
  };
  const record = () =>
    recordOutcome(
      { ...parts, store: { ...context.store, append }, unrecorded, logWatch, ending: ending.signal },
      { claim, reported: postponed(claim.recipientIds, 'a fault of the sending service') },
    );
  const events = () => context.store.readStream(messageStream(messageId));
  return { record, events, unrecorded, ending, elapsedMs: () => ms, tries: () => tries, noted: () => noted };
};

test('a claim lasts as long as its lease, not only as long as its attempt', async () => {
  const { events } = await open(() => null);
  const started = (await events()).find((event) => event.type === 'AttemptStarted');
  if (started?.type !== 'AttemptStarted') throw new Error('no attempt was started');
  const { metadata, data } = started;
  expect(Date.parse(data.leaseUntil) - Date.parse(metadata.occurredAt)).toBe(TIMES.leaseMs);
});

test.each([
  ['does not answer', () => new StoreUnavailable('the log does not answer')],
  ['leaves open whether it recorded', () => new AppendOutcomeUnknown('no answer')],
])('an outcome is recorded late by a log that %s for longer than the lease lasts', async (_, fault) => {
  const { record, events, elapsedMs, tries, noted } = await open((ms) => (ms < 20 * TIMES.leaseMs ? fault() : null));
  await record();
  expect(elapsedMs()).toBeGreaterThan(20 * TIMES.leaseMs);
  expect(elapsedMs()).toBeLessThan(20 * TIMES.leaseMs + 2_000);
  expect(noted()).toBeGreaterThan(0);
  expect(noted()).toBeLessThan(tries());
  expect((await events()).map(({ type }) => type)).toEqual(['MessageAccepted', 'AttemptStarted', 'RecipientDeferred']);
});

test('an outcome is abandoned by a process that ends while the log is away', async () => {
  const opened = await open((_, tries) => {
    if (tries === 3) opened.ending.abort();
    return new StoreUnavailable('the log does not answer');
  });
  await expect(opened.record()).rejects.toBeInstanceOf(StoreUnavailable);
  expect(opened.tries()).toBe(3);
});

test('an outcome that the log refuses is abandoned when the lease is over: another attempt may be in progress', async () => {
  const { record, elapsedMs } = await open(() => new Error('a fault'));
  await expect(record()).rejects.toThrow('a fault');
  expect(elapsedMs()).toBeGreaterThanOrEqual(TIMES.leaseMs);
  expect(elapsedMs()).toBeLessThan(TIMES.leaseMs + 5_000);
  const mended = await open((ms) => (ms < TIMES.leaseMs - 5_000 ? new Error('a fault') : null));
  await mended.record();
  expect((await mended.events()).at(-1)?.type).toBe('RecipientDeferred');
});

test('an outcome takes up room until the log has it', async () => {
  const places = { taken: 0 };
  const { record, unrecorded } = await open(() => {
    places.taken = placesOf();
    return null;
  });
  const placesOf = (): number => {
    const ends: (() => void)[] = [];
    while (unrecorded.hasRoom()) ends.push(unrecorded.complete());
    for (const end of ends) end();
    return ends.length;
  };
  const all = placesOf();
  await record();
  expect([places.taken, placesOf()]).toEqual([all - 1, all]);
});

test('retries of messages that fail together are spread', async () => {
  const waits: number[] = [];
  for (const randomByte of [0, 128, 255]) {
    const { record, events } = await open(() => null, randomByte);
    await record();
    const deferred = (await events()).at(-1);
    if (deferred?.type !== 'RecipientDeferred') throw new Error('it was not deferred');
    const { data, metadata } = deferred;
    waits.push(Date.parse(data.nextAttemptAt) - Date.parse(metadata.occurredAt));
  }
  expect(new Set(waits).size).toBe(3);
  expect(waits).toEqual(waits.toSorted((one, other) => one - other));
});
