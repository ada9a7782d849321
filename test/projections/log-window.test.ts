import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { EventStore } from '../../src/domain/ports/event-store.ts';
import { createLogWindow, type LogWindow } from '../../src/projections/log-window.ts';
import { appendKey, newStore, system } from './support/keys-log.ts';

const READERS = [0, 1, 2] as const;
/** Who reads next, after how many appends: some run ahead, others fall far behind. */
const plans = fc.array(fc.record({ reader: fc.constantFrom(...READERS), appends: fc.nat(40) }), { maxLength: 60 });

interface Reader {
  position: string;
  readonly seen: string[];
}

const openLog = () => {
  const store = newStore();
  let written = 0;
  return {
    store,
    append: async (count: number): Promise<void> => {
      for (let one = 0; one < count; one += 1) await appendKey(store, `key_${written++}`);
    },
    streams: () => Array.from({ length: written }, (_, number) => `apiKey-key_${number}`),
  };
};

/** One batch, unless the reader is at the end. */
const turn = async (window: LogWindow, store: EventStore, reader: Reader): Promise<boolean> => {
  if (reader.position >= (await store.head())) return false;
  const batch = await window.next(reader.position);
  expect(batch?.after).toBe(reader.position);
  reader.seen.push(...(batch?.events ?? []).map(({ stream }) => stream));
  reader.position = batch?.position ?? reader.position;
  return true;
};

const readToTheEnd = async (window: LogWindow, store: EventStore, reader: Reader): Promise<void> => {
  while (await turn(window, store, reader));
};

test('every reader of the window gets every event once and in order, whoever else is ahead or behind', async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const { store, append, streams } = openLog();
      const stopping = new AbortController();
      const impatient = { ...system, sleep: async () => undefined };
      const window = createLogWindow({ store, system: impatient, signal: stopping.signal });
      const readers = READERS.map((): Reader => ({ position: '', seen: [] }));
      for (const { reader, appends } of plan) {
        await append(appends);
        await turn(window, store, readers[reader] as Reader);
      }
      for (const reader of readers) await readToTheEnd(window, store, reader);
      expect(readers.map(({ seen }) => seen)).toEqual(readers.map(streams));
      stopping.abort();
      expect(await window.next(await store.head())).toBeNull();
    }),
    { numRuns: 60 },
  );
});

test('a window that is behind waits for nothing while pages are full', async () => {
  const { store, append } = openLog();
  await append(1700);
  const sleep = vi.fn(async () => undefined);
  const stopping = new AbortController();
  const window = createLogWindow({ store, system: { ...system, sleep }, signal: stopping.signal });
  const reader: Reader = { position: '', seen: [] };
  await readToTheEnd(window, store, reader);
  expect(reader.seen).toHaveLength(1700);
  expect(sleep).not.toHaveBeenCalled();
  await append(1);
  await readToTheEnd(window, store, reader);
  expect(sleep).toHaveBeenCalled();
  stopping.abort();
});

test('a reader that is behind one who read further than the last event waits for the next, and reads no more', async () => {
  const { store, append } = openLog();
  await append(3);
  const readAll = vi.fn(store.readAll);
  const stopping = new AbortController();
  const window = createLogWindow({ store: { ...store, readAll }, system, signal: stopping.signal });
  const head = await store.head();
  const further = window.next('9999999999999999');
  const behind = window.next(head);
  await system.sleep(200);
  expect(readAll.mock.calls.length).toBeLessThanOrEqual(1);
  stopping.abort();
  expect(await Promise.all([further, behind])).toEqual([null, null]);
});

test('a window that jumps ends the subscription that it leaves', async () => {
  const { store, append } = openLog();
  await append(3);
  const ended = vi.fn();
  const subscribe: EventStore['subscribe'] = async function* (...given) {
    try {
      yield* store.subscribe(...given);
    } finally {
      ended();
    }
  };
  const stopping = new AbortController();
  const window = createLogWindow({ store: { ...store, subscribe }, system, signal: stopping.signal });
  await window.next('');
  expect(ended).not.toHaveBeenCalled();
  const further = window.next('9999999999999999');
  await vi.waitFor(() => expect(ended).toHaveBeenCalledTimes(1));
  stopping.abort();
  expect(await further).toBeNull();
});
