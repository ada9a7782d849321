import { StoreUnavailable } from './store-unavailable.ts';
import type { System } from './system.ts';

export interface BatcherOptions<Item, Answer> {
  /** What callers wait for, as an error names it: 'the log'. */
  readonly name: string;
  /** Batches in flight. */
  readonly inFlightMax: number;
  /**
   * Pause after a batch that several shared: the next is larger. Longer delays all under load, shorter costs round trips.
   * Default: none.
   */
  readonly restMs?: number;
  /** Items that may wait. Default of both bounds: any number. */
  readonly waitingMax?: number;
  readonly waitingBytesMax?: number;
  /** An item that waited longer is refused: its caller has given up. Absent: no limit. */
  readonly patience?: { readonly ms: number; readonly system: Pick<System, 'monotonicMs'> };
  /** Default: 0. */
  readonly bytesOf?: (item: Item) => number;
  /** Called for each batch: whether the next item, in order, joins it or waits. The first one must join. */
  readonly admission: () => (item: Item) => boolean;
  /** One result for each item, in order; when it rejects, all items are rejected. */
  readonly run: (items: readonly Item[]) => Promise<readonly PromiseSettledResult<Answer>[]>;
}

export interface Batcher<Item, Answer> {
  /** @throws {StoreUnavailable} too many wait, it waited too long, or the batcher was closed: the item was not sent. */
  add(item: Item): Promise<Answer>;
  /** Refuses waiting and new items; resolves when no batch is in flight. */
  close(): Promise<void>;
}

/**
 * For queries: messages that pass one by one, as from EventStoreDB, would else be written and read in queries of one or
 * two, which cost the process and PostgreSQL more than the rows.
 */
export const REST_MS = 3;

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly since: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (reason: unknown) => void;
}

/** Admits up to this many items to a batch. */
export const atMost = (itemsMax: number) => (): (() => boolean) => {
  let left = itemsMax;
  return () => left-- > 0;
};

/** The results of a batch in which nothing failed. */
export const fulfilled = <Answer>(answers: readonly Answer[]): readonly PromiseSettledResult<Answer>[] =>
  answers.map((value) => ({ status: 'fulfilled', value }));

/** Collects items while a batch is in flight, so that callers share round trips and commits. An idle batcher sends at once. */
export const createBatcher = <Item, Answer>(options: BatcherOptions<Item, Answer>): Batcher<Item, Answer> => {
  const { name, patience, restMs = 0, bytesOf = () => 0 } = options;
  const { waitingMax = Number.POSITIVE_INFINITY, waitingBytesMax = Number.POSITIVE_INFINITY } = options;
  const now = (): number => patience?.system.monotonicMs() ?? 0;
  const inFlight = new Set<Promise<void>>();
  let waiting: Waiting<Item, Answer>[] = [];
  let waitingBytes = 0;
  let scheduled = false;
  let isResting = false;
  let closed = false;

  const totalOf = (some: readonly Waiting<Item, Answer>[]): number =>
    some.reduce((sum, { item }) => sum + bytesOf(item), 0);

  const refuse = (refused: readonly Waiting<Item, Answer>[], sentence: string): void => {
    waitingBytes -= totalOf(refused);
    for (const { reject } of refused) reject(new StoreUnavailable(sentence));
  };

  const refuseStale = (): void => {
    if (patience === undefined) return;
    const oldest = now() - patience.ms;
    const stale = waiting.filter(({ since }) => since < oldest);
    if (stale.length === 0) return;
    waiting = waiting.filter(({ since }) => since >= oldest);
    refuse(stale, `${name} was too slow`);
  };

  const takeBatch = (): readonly Waiting<Item, Answer>[] => {
    const admits = options.admission();
    const joins = waiting.map(({ item }) => admits(item));
    const batch = waiting.filter((_, index) => joins[index]);
    waiting = waiting.filter((_, index) => !joins[index]);
    waitingBytes -= totalOf(batch);
    return batch;
  };

  const settle = async (batch: readonly Waiting<Item, Answer>[]): Promise<void> => {
    const call = options.run(batch.map(({ item }) => item));
    const settled = await call.catch((reason: unknown) => batch.map(() => ({ status: 'rejected' as const, reason })));
    for (const [index, { resolve, reject }] of batch.entries()) {
      const one = settled[index];
      if (one?.status === 'fulfilled') resolve(one.value);
      else reject(one?.reason);
    }
  };

  const launch = (): void => {
    scheduled = false;
    refuseStale();
    while (inFlight.size < options.inFlightMax && waiting.length > 0) {
      const batch = takeBatch();
      const call: Promise<void> = settle(batch).finally(() => {
        inFlight.delete(call);
        if (restMs > 0 && batch.length > 1) rest();
        else schedule();
      });
      inFlight.add(call);
    }
  };

  /** In the next turn of the event loop: items that arrive in this one join the batch. */
  const schedule = (): void => {
    if (scheduled || isResting || waiting.length === 0 || inFlight.size >= options.inFlightMax) return;
    scheduled = true;
    setImmediate(launch);
  };

  const rest = (): void => {
    isResting = true;
    setTimeout(() => {
      isResting = false;
      schedule();
    }, restMs);
  };

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        const bytes = bytesOf(item);
        if (closed) return reject(new StoreUnavailable(`${name} is closed`));
        const full = waiting.length >= waitingMax || waitingBytes + bytes > waitingBytesMax;
        if (full && waiting.length > 0) return reject(new StoreUnavailable(`too many callers wait for ${name}`));
        waitingBytes += bytes;
        waiting.push({ item, since: now(), resolve, reject });
        schedule();
      }),

    close: async () => {
      closed = true;
      const refused = waiting;
      waiting = [];
      refuse(refused, `${name} is closed`);
      await Promise.all(inFlight);
    },
  };
};
