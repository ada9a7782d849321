import { describe, expect, it } from 'vitest';
import { createGather, type Gather, type GatherOptions } from '../../src/adapters/gather.ts';

interface Call {
  readonly items: readonly string[];
  answer(): void;
  fail(reason: unknown): void;
}

/** A gather whose calls are answered by hand; answers are the items in upper case, `bad` is rejected. */
const gatherByHand = (options: Partial<GatherOptions<string, string>> = {}) => {
  const calls: Call[] = [];
  const time = { now: 0 };
  const gather: Gather<string, string> = createGather({
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
  return { gather, calls, time };
};

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe('calls that gather', () => {
  it('go together, each with its own answer', async () => {
    const { gather, calls } = gatherByHand();
    const answers = Promise.allSettled(['a', 'bad', 'c'].map(gather.add));
    await turn();
    expect(calls.map(({ items }) => items)).toEqual([['a', 'bad', 'c']]);
    calls[0]?.answer();
    expect((await answers).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('wait for the call under way, and then go as one', async () => {
    const { gather, calls } = gatherByHand();
    const first = gather.add('a');
    await turn();
    const others = [gather.add('b'), gather.add('c')];
    await turn();
    expect(calls).toHaveLength(1);
    calls[0]?.answer();
    expect(await first).toBe('A');
    await turn();
    calls[1]?.answer();
    expect(await Promise.all(others)).toEqual(['B', 'C']);
    expect(calls).toHaveLength(2);
  });

  it('are all rejected where the call fails, and the next ones are sent', async () => {
    const { gather, calls } = gatherByHand();
    const answers = Promise.allSettled([gather.add('a'), gather.add('b')]);
    await turn();
    calls[0]?.fail(new Error('lost'));
    expect(await answers).toMatchObject([{ reason: { message: 'lost' } }, { reason: { message: 'lost' } }]);
    const next = gather.add('c');
    await turn();
    calls[1]?.answer();
    expect(await next).toBe('C');
  });

  it('stay in order when some are left for the next call', async () => {
    const { gather, calls } = gatherByHand({ admission: () => (item) => item !== 'later' || calls.length > 0 });
    const answers = Promise.all(['a', 'later', 'c'].map(gather.add));
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
  ])('are refused at once where too %s wait', async (_, options) => {
    const { gather, calls } = gatherByHand(options);
    const kept = [gather.add('a'), gather.add('b')];
    await expect(gather.add('c')).rejects.toMatchObject({ name: 'StoreUnavailable' });
    await turn();
    calls[0]?.answer();
    expect(await Promise.all(kept)).toEqual(['A', 'B']);
    const later = gather.add('d');
    await turn();
    calls[1]?.answer();
    expect(await later).toBe('D');
  });

  it('are refused, not sent, when they waited longer than their callers', async () => {
    const { gather, calls, time } = gatherByHand();
    const first = gather.add('a');
    await turn();
    const stale = gather.add('b');
    time.now = 101;
    calls[0]?.answer();
    await first;
    await expect(stale).rejects.toMatchObject({ name: 'StoreUnavailable' });
    expect(calls).toHaveLength(1);
  });

  it('are refused on closing, which waits for the call under way', async () => {
    const { gather, calls } = gatherByHand();
    const first = gather.add('a');
    await turn();
    const waiting = gather.add('b');
    const closed = gather.close();
    await expect(waiting).rejects.toMatchObject({ name: 'StoreUnavailable' });
    calls[0]?.answer();
    expect(await first).toBe('A');
    await closed;
    await expect(gather.add('c')).rejects.toMatchObject({ name: 'StoreUnavailable' });
  });
});
