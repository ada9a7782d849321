import { afterEach, describe, expect, test, vi } from 'vitest';
import { createSystem } from '../../src/adapters/system.ts';
import { eventCodec } from '../../src/domain/kernel/codec.ts';
import type { EventStore } from '../../src/domain/kernel/event-store.ts';
import { StoreUnavailable } from '../../src/lib/async/async.ts';
import { createInMemoryProjections } from '../../src/workers/in-memory-projections.ts';
import { keyCreated } from '../support/controls/api-key.ts';
import { messageAccepted } from '../support/controls/message.ts';
import { createInMemoryEventStore } from '../support/in-memory-event-store.ts';
import { contextAt, NOW } from '../support/specification.ts';

const system = createSystem();
const stopping: AbortController[] = [];

afterEach(() => {
  for (const each of stopping.splice(0)) each.abort();
});

const openStore = (): EventStore => createInMemoryEventStore({ codec: eventCodec, system });

const appendKey = (store: EventStore, keyId: string) =>
  store.append({
    stream: `apiKey-${keyId}`,
    expected: 'no-stream',
    context: contextAt(NOW),
    events: [{ ...keyCreated({ keyId }), id: system.uuid() }],
  });
const appendMessage = (store: EventStore, messageId: string) =>
  store.append({
    stream: `message-${messageId}`,
    expected: 'no-stream',
    context: contextAt(NOW),
    events: [{ ...messageAccepted({ messageId }), id: system.uuid() }],
  });

/** A projection that records the streams of its events and its changes. */
const memoryOf = (category: string) => {
  const streams: string[] = [];
  const onChange = vi.fn();
  return { category, streams, onChange, apply: ({ stream }: { readonly stream: string }) => streams.push(stream) };
};

const begin = (
  work: ReturnType<typeof createInMemoryProjections>['work'],
): { signal: AbortController; over: Promise<void> } => {
  const signal = new AbortController();
  stopping.push(signal);
  return { signal, over: work(signal.signal, () => undefined) };
};

describe('in-memory projections', () => {
  test('never report that they have caught up if they end before', async () => {
    const store = openStore();
    await appendKey(store, 'key_1');
    const head = Promise.withResolvers<string>();
    const { work, caughtUp } = createInMemoryProjections({ ...store, head: () => head.promise }, [memoryOf('apiKey')]);
    const { signal, over } = begin(work);
    signal.abort();
    head.resolve(await store.head());
    await over;
    await expect(caughtUp).rejects.toThrow('ends before');
  });

  test('apply their own family of events, from the start of the log and as it grows', async () => {
    const store = openStore();
    await appendKey(store, 'key_1');
    await appendMessage(store, 'msg_1');
    const keys = memoryOf('apiKey');
    const domains = memoryOf('domain');
    const { work, caughtUp } = createInMemoryProjections(store, [keys, domains]);
    begin(work);
    await caughtUp;
    expect(keys.streams).toEqual(['apiKey-key_1']);
    await appendKey(store, 'key_2');
    await vi.waitFor(() => expect(keys.streams).toEqual(['apiKey-key_1', 'apiKey-key_2']), { timeout: 20_000 });
    expect(keys.onChange).toHaveBeenCalledTimes(2);
    expect([domains.streams, domains.onChange.mock.calls]).toEqual([[], []]);
  });

  test('catch up at once if the log contains no events of the family', async () => {
    const store = openStore();
    const [ofEmpty, ofOthers] = [memoryOf('domain'), memoryOf('domain')];
    const empty = createInMemoryProjections(store, [ofEmpty]);
    begin(empty.work);
    await expect(empty.caughtUp).resolves.toBeUndefined();
    await appendMessage(store, 'msg_1');
    const others = createInMemoryProjections(store, [ofOthers]);
    begin(others.work);
    await expect(others.caughtUp).resolves.toBeUndefined();
    expect([ofEmpty.streams, ofOthers.streams]).toEqual([[], []]);
  });

  test('do not catch up while the log is unavailable, and apply each event once after a restart', async () => {
    const store = openStore();
    for (const keyId of ['key_1', 'key_2']) await appendKey(store, keyId);
    let away = true;
    const head: EventStore['head'] = () => (away ? Promise.reject(new StoreUnavailable('away')) : store.head());
    const keys = memoryOf('apiKey');
    const { work, caughtUp } = createInMemoryProjections({ ...store, head }, [keys]);
    let complete = false;
    void caughtUp.then(() => {
      complete = true;
    });
    await expect(begin(work).over).rejects.toThrow('away');
    expect([complete, keys.streams]).toEqual([false, []]);
    away = false;
    const first = begin(work);
    await caughtUp;
    first.signal.abort();
    await first.over;
    await appendKey(store, 'key_3');
    begin(work);
    await vi.waitFor(() => expect(keys.streams).toEqual(['apiKey-key_1', 'apiKey-key_2', 'apiKey-key_3']), {
      timeout: 20_000,
    });
  });
});
