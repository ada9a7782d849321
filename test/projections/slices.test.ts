import { describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import { applyBatch, type Database, SLICE_ITEMS_MAX } from '../../src/lib/projections/projections.ts';
import type { Projection } from '../../src/projections/projection.ts';

/** Answers the queries of `applyBatch` itself. @param parked streams of parked events. */
const database = (parked: readonly string[] = []): Database =>
  ({ query: async () => ({ rows: [{ parked }] }) }) as unknown as Database;

const accepted = (index: number, recipients: number): RecordedEvent =>
  ({
    type: 'MessageAccepted',
    stream: `message-msg_${index}`,
    position: String(index).padStart(16, '0'),
    data: { messageId: `msg_${index}`, recipients: Array.from({ length: recipients }, (_, id) => ({ id })) },
    metadata: { occurredAt: '2026-11-28T00:00:00.000Z' },
  }) as unknown as RecordedEvent;

const itemsOf = (events: readonly RecordedEvent[]): number =>
  events.reduce((sum, { data }) => sum + 1 + ('recipients' in data ? data.recipients.length : 0), 0);

/** Counts turns of the event loop until it is stopped. */
const countTurns = () => {
  let turn = 0;
  let next = setImmediate(function count() {
    turn += 1;
    next = setImmediate(count);
  });
  return { now: () => turn, stop: () => clearImmediate(next) };
};

/** Applies one batch with several projections at once. @returns the events and the turn of each call. */
const applied = async (events: readonly RecordedEvent[], count = 1, parked: readonly string[] = []) => {
  const turns = countTurns();
  const calls: { readonly events: readonly RecordedEvent[]; readonly turn: number; readonly by: number }[] = [];
  const batch = { after: '', position: events.at(-1)?.position ?? '', events };
  await Promise.all(
    Array.from({ length: count }, (_, by) => {
      const projection: Projection = {
        name: 'messages',
        version: 1,
        categories: ['message'],
        tables: [],
        apply: async (_db, some) => {
          calls.push({ events: some, turn: turns.now(), by });
        },
      };
      return applyBatch({ client: database(parked), projection, schema: 'read_models', logId: 'log' }, batch);
    }),
  );
  turns.stop();
  return calls;
};

describe('a batch whose messages have many recipients', () => {
  const events = Array.from({ length: 190 }, (_, index) => accepted(index, 50));

  test('is applied in slices of a limited number of recipients, in order and each event once', async () => {
    const calls = await applied(events);
    expect(calls.flatMap((call) => call.events)).toEqual(events);
    expect(calls.map((call) => itemsOf(call.events)).filter((items) => items > SLICE_ITEMS_MAX)).toEqual([]);
    expect(calls).toHaveLength(Math.ceil((190 * 51) / SLICE_ITEMS_MAX));
  });

  test('gives every slice of every projection its own turn of the event loop', async () => {
    const calls = await applied(events, 5);
    expect(calls).toHaveLength(5 * Math.ceil((190 * 51) / SLICE_ITEMS_MAX));
    expect(new Set(calls.map(({ turn }) => turn)).size).toBe(calls.length);
    for (const by of [0, 1, 2, 3, 4]) {
      expect(calls.filter((call) => call.by === by).flatMap((call) => call.events)).toEqual(events);
    }
  });

  test('omits parked streams', async () => {
    const calls = await applied(events, 1, ['message-msg_7']);
    expect(calls.flatMap((call) => call.events)).toEqual(events.toSpliced(7, 1));
  });
});

test('a small batch is applied at once', async () => {
  const calls = await applied([accepted(1, 50), accepted(2, 1)], 3);
  expect(calls.map(({ events, turn }) => [events.length, turn])).toEqual([0, 1, 2].map(() => [2, 0]));
});

test('an event with more recipients than a slice holds is a slice of its own', async () => {
  const events = [accepted(1, 1), accepted(2, SLICE_ITEMS_MAX), accepted(3, 1)];
  expect((await applied(events)).map((call) => call.events.length)).toEqual([1, 1, 1]);
});

test('events that fill a slice exactly share it, and one more recipient needs another', async () => {
  const half = SLICE_ITEMS_MAX / 2 - 1; // the event itself is an item
  expect(await applied([accepted(1, half), accepted(2, half)])).toHaveLength(1);
  expect(await applied([accepted(1, half), accepted(2, half + 1)])).toHaveLength(2);
});
