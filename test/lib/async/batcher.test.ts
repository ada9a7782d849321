import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { atMost, type Batcher, type BatcherOptions, createBatcher } from '../../../src/lib/async/batcher.ts';

interface Call {
  readonly items: readonly string[];
  answer(): void;
  fail(reason: unknown): void;
}

/** A batcher whose calls the test answers. Results are the items in upper case, and `bad` is rejected. */
const batcherByHand = (options: Partial<BatcherOptions<string, string>> = {}) => {
  const calls: Call[] = [];
  const time = { now: 0 };
  const batcher: Batcher<string, string> = createBatcher({
    name: 'the log',
    inFlightMax: 1,
    waitingMax: 10,
    waitingBytesMax: 1000,
    patience: { ms: 100, system: { monotonicMs: () => time.now } },
    bytesOf: (item) => item.length,
    admission: () => () => true,
    run: (items) =>
      new Promise((resolve, reject) => {
        const settled = (item: string): PromiseSettledResult<string> =>
          item === 'bad'
            ? { status: 'rejected', reason: new Error(item) }
            : { status: 'fulfilled', value: item.toUpperCase() };
        calls.push({ items, answer: () => resolve(items.map(settled)), fail: reject });
      }),
    ...options,
  });
  return { batcher, calls, time };
};

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe('items in batches', () => {
  it('are sent together, each with its own answer', async () => {
    const { batcher, calls } = batcherByHand();
    const answers = Promise.allSettled(['a', 'bad', 'c'].map(batcher.add));
    await turn();
    expect(calls.map(({ items }) => items)).toEqual([['a', 'bad', 'c']]);
    calls[0]?.answer();
    expect((await answers).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('gather for a moment after a batch that several shared, but not after one with a single item', async () => {
    const { batcher, calls } = batcherByHand({ restMs: 50 });
    const answered = Promise.all(['a', 'b'].map(batcher.add));
    await turn();
    calls[0]?.answer();
    await answered;
    const third = batcher.add('c');
    await turn();
    expect(calls).toHaveLength(1);
    const fourth = batcher.add('d');
    await expect.poll(() => calls[1]?.items).toEqual(['c', 'd']);
    calls[1]?.answer();
    await Promise.all([third, fourth]);
    await sleep(100);
    const lone = batcher.add('e');
    await turn();
    calls[2]?.answer();
    await lone;
    void batcher.add('f');
    await turn();
    expect(calls.map(({ items }) => items)).toEqual([['a', 'b'], ['c', 'd'], ['e'], ['f']]);
  });

  it('wait for the call in flight, and then form one batch', async () => {
    const { batcher, calls } = batcherByHand();
    const first = batcher.add('a');
    await turn();
    const others = [batcher.add('b'), batcher.add('c')];
    await turn();
    expect(calls).toHaveLength(1);
    calls[0]?.answer();
    expect(await first).toBe('A');
    await turn();
    calls[1]?.answer();
    expect(await Promise.all(others)).toEqual(['B', 'C']);
    expect(calls).toHaveLength(2);
  });

  it('are all rejected if the call fails, and the next ones are sent', async () => {
    const { batcher, calls } = batcherByHand();
    const answers = Promise.allSettled([batcher.add('a'), batcher.add('b')]);
    await turn();
    calls[0]?.fail(new Error('lost'));
    expect(await answers).toMatchObject([{ reason: { message: 'lost' } }, { reason: { message: 'lost' } }]);
    const next = batcher.add('c');
    await turn();
    calls[1]?.answer();
    expect(await next).toBe('C');
  });

  it('stay in order when some are left for the next call', async () => {
    const { batcher, calls } = batcherByHand({ admission: () => (item) => item !== 'later' || calls.length > 0 });
    const answers = Promise.all(['a', 'later', 'c'].map(batcher.add));
    await turn();
    calls[0]?.answer();
    await turn();
    calls[1]?.answer();
    expect(await answers).toEqual(['A', 'LATER', 'C']);
    expect(calls.map(({ items }) => items)).toEqual([['a', 'c'], ['later']]);
  });

  it.each([
    ['many', { waitingMax: 2 }],
    ['large', { waitingBytesMax: 2 }],
  ])('are refused at once if too %s wait', async (_, options) => {
    const { batcher, calls } = batcherByHand(options);
    const kept = [batcher.add('a'), batcher.add('b')];
    await expect(batcher.add('c')).rejects.toMatchObject({ name: 'StoreUnavailable' });
    await turn();
    calls[0]?.answer();
    expect(await Promise.all(kept)).toEqual(['A', 'B']);
    const later = batcher.add('d');
    await turn();
    calls[1]?.answer();
    expect(await later).toBe('D');
  });

  it('are refused, not sent, if they waited longer than their callers', async () => {
    const { batcher, calls, time } = batcherByHand();
    const first = batcher.add('a');
    await turn();
    const stale = batcher.add('b');
    time.now = 101;
    calls[0]?.answer();
    await first;
    await expect(stale).rejects.toMatchObject({ name: 'StoreUnavailable' });
    expect(calls).toHaveLength(1);
  });

  it('that were refused leave their room to others', async () => {
    const { batcher, calls, time } = batcherByHand({ waitingMax: 1 });
    const first = batcher.add('a');
    await turn();
    const stale = batcher.add('b');
    await expect(batcher.add('c')).rejects.toThrow('too many callers wait');
    time.now = 101;
    calls[0]?.answer();
    await first;
    await expect(stale).rejects.toThrow('too slow');
    const next = batcher.add('d');
    await turn();
    calls[1]?.answer();
    expect(await next).toBe('D');
    const inFlight = batcher.add('e');
    await turn();
    const waiting = batcher.add('f');
    calls[2]?.answer();
    await turn();
    calls[3]?.answer();
    expect(await Promise.all([inFlight, waiting])).toEqual(['E', 'F']);
  });

  it('are refused on closing, which waits for the call in flight', async () => {
    const { batcher, calls } = batcherByHand();
    const first = batcher.add('a');
    await turn();
    const waiting = batcher.add('b');
    const closed = batcher.close();
    await expect(waiting).rejects.toMatchObject({ name: 'StoreUnavailable' });
    calls[0]?.answer();
    expect(await first).toBe('A');
    await closed;
    await turn();
    expect(calls).toHaveLength(1);
    await expect(batcher.add('c')).rejects.toMatchObject({ name: 'StoreUnavailable' });
  });
});

describe('items of several owners', () => {
  /** The first letter of an item is its owner. A batch holds four. */
  const options = { ownerOf: (item: string) => item.slice(0, 1), admission: atMost(4) };

  it('take turns: one with much to do delays no other, whatever came first', async () => {
    const { batcher, calls } = batcherByHand({ ...options, waitingMax: 100 });
    const first = batcher.add('a0');
    await turn();
    const rest = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'b1', 'c1', 'c2'].map(batcher.add);
    for (let call = 0; call < 4; call += 1) {
      calls[call]?.answer();
      await turn();
    }
    await Promise.all([first, ...rest]);
    expect(calls.map(({ items }) => items.join(' '))).toEqual(['a0', 'a1 b1 c1 a2', 'c2 a3 a4 a5', 'a6']);
  });

  it('have one owner after another at the front, if a batch holds a single item', async () => {
    const { batcher, calls } = batcherByHand({ ...options, admission: atMost(1) });
    const answers = ['a1', 'a2', 'a3', 'b1', 'b2'].map(batcher.add);
    for (let call = 0; call < 5; call += 1) {
      await turn();
      calls[call]?.answer();
    }
    await Promise.all(answers);
    expect(calls.map(({ items }) => items.join(' '))).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
  });

  it.each([
    ['many', { waitingMax: 8 }],
    ['large', { waitingBytesMax: 16 }],
  ])('are refused if one owner has too %s waiting, but not those of another', async (_, bounds) => {
    const { batcher, calls } = batcherByHand({ ...options, ...bounds, admission: () => () => true });
    const first = batcher.add('a0');
    await turn();
    const greedy = Promise.allSettled(['a1', 'a2', 'a3', 'a4', 'a5', 'a6'].map(batcher.add));
    const others = Promise.all(['b1', 'b2', 'c1'].map(batcher.add));
    calls[0]?.answer();
    await turn();
    calls[1]?.answer();
    expect(await others).toEqual(['B1', 'B2', 'C1']);
    await first;
    const refused = (await greedy).flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    expect(refused.map(({ name }) => name)).toEqual(['StoreUnavailable', 'StoreUnavailable']);
  });
});
