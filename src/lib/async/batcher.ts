import { StoreUnavailable, type System } from './system.ts';

export interface BatcherOptions<Item, Answer> {
  /** Name of the resource used in errors: 'the log'. */
  readonly name: string;
  /** Batches in flight. */
  readonly inFlightMax: number;
  /**
   * Pause after a batch with several items, so that the next one is larger. Longer delays every item under load,
   * shorter costs round trips.
   * Default: none.
   */
  readonly restMs?: number;
  /**
   * Owners (organizations) take turns, and the items of one never exceed the free capacity. Default: all items have one
   * owner.
   */
  readonly ownerOf?: (item: Item) => string;
  /** Items that may wait. Default of both bounds: any number. */
  readonly waitingMax?: number;
  readonly waitingBytesMax?: number;
  /** Maximum wait before an item is rejected, because its caller has given up. Absent: no limit. */
  readonly patience?: { readonly ms: number; readonly system: Pick<System, 'monotonicMs'> };
  /** Default: 0. */
  readonly bytesOf?: (item: Item) => number;
  /**
   * Called for each batch. Returns whether the next item, in order, joins the batch or waits. The first item must join.
   */
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
 * Rest time for queries. Messages that arrive one at a time, as from EventStoreDB, would otherwise be written and read
 * in queries of one or two rows, whose overhead costs the process and PostgreSQL more than the rows.
 */
export const REST_MS = 3;

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly owner: string;
  readonly since: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (reason: unknown) => void;
}

/** Admits up to this many items to a batch. */
export const atMost = (itemsMax: number) => (): (() => boolean) => {
  let left = itemsMax;
  return () => left-- > 0;
};

/** The results of a batch without failures. */
export const fulfilled = <Answer>(answers: readonly Answer[]): readonly PromiseSettledResult<Answer>[] =>
  answers.map((value) => ({ status: 'fulfilled', value }));

interface Load {
  readonly items: number;
  readonly bytes: number;
}

const NOTHING: Load = { items: 0, bytes: 0 };

/** Interleaves the lines: the first item of each, then the second of each, and so on. */
const interleaved = <One>(lines: readonly (readonly One[])[]): readonly One[] => {
  const ordered: One[] = [];
  let left = lines;
  for (let round = 0; left.length > 0; round += 1) {
    ordered.push(...left.flatMap((line) => line.slice(round, round + 1)));
    left = left.filter(({ length }) => length > round + 1);
  }
  return ordered;
};

/**
 * Collects items while a batch is in flight, so that callers share round trips and commits. An idle batcher sends at
 * once.
 */
export const createBatcher = <Item, Answer>(options: BatcherOptions<Item, Answer>): Batcher<Item, Answer> => {
  const { name, patience, restMs = 0, bytesOf = () => 0, ownerOf } = options;
  const { waitingMax = Number.POSITIVE_INFINITY, waitingBytesMax = Number.POSITIVE_INFINITY } = options;
  const now = (): number => patience?.system.monotonicMs() ?? 0;
  const inFlight = new Set<Promise<void>>();
  let waiting: Waiting<Item, Answer>[] = [];
  /** Load of each waiting owner. The owner served last is at the end. */
  const loads = new Map<string, Load>();
  let total = NOTHING;
  let scheduled = false;
  let isResting = false;
  let closed = false;

  const count = ({ item, owner }: Pick<Waiting<Item, Answer>, 'item' | 'owner'>, sign: 1 | -1): void => {
    const plus = (load: Load): Load => ({ items: load.items + sign, bytes: load.bytes + sign * bytesOf(item) });
    const own = plus(loads.get(owner) ?? NOTHING);
    total = plus(total);
    if (own.items === 0) loads.delete(owner);
    else loads.set(owner, own);
  };

  /** A single item may always wait. */
  const mayWait = (owner: string, bytes: number): boolean => {
    const free: Load = { items: waitingMax - total.items, bytes: waitingBytesMax - total.bytes };
    const fits = total.items === 0 || (free.items > 0 && free.bytes >= bytes);
    const own = loads.get(owner);
    if (!fits || ownerOf === undefined || own === undefined) return fits;
    return own.items < free.items && own.bytes + bytes <= free.bytes;
  };

  const refuse = (refused: readonly Waiting<Item, Answer>[], sentence: string): void => {
    for (const one of refused) {
      count(one, -1);
      one.reject(new StoreUnavailable(sentence));
    }
  };

  const refuseStale = (): void => {
    if (patience === undefined) return;
    const oldest = now() - patience.ms;
    const stale = waiting.filter(({ since }) => since < oldest);
    if (stale.length === 0) return;
    waiting = waiting.filter(({ since }) => since >= oldest);
    refuse(stale, `${name} was too slow`);
  };

  /** Items in the order in which they may join the next batch. */
  const inOrder = (): readonly Waiting<Item, Answer>[] => {
    if (loads.size <= 1) return waiting;
    const lines = Map.groupBy(waiting, ({ owner }) => owner);
    return interleaved([...loads.keys()].map((owner) => lines.get(owner) ?? []));
  };

  const takeBatch = (): readonly Waiting<Item, Answer>[] => {
    const admits = options.admission();
    const batch = inOrder().filter(({ item }) => admits(item));
    const joined = new Set(batch);
    waiting = waiting.filter((one) => !joined.has(one));
    for (const one of batch) {
      count(one, -1);
      const left = loads.get(one.owner);
      if (left !== undefined && loads.delete(one.owner)) loads.set(one.owner, left);
    }
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

  /** Starts in the next turn of the event loop, so that items that arrive in this one join the batch. */
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
        const owner = ownerOf?.(item) ?? '';
        if (!mayWait(owner, bytes)) return reject(new StoreUnavailable(`too many callers wait for ${name}`));
        const one = { item, owner, since: now(), resolve, reject };
        count(one, 1);
        waiting.push(one);
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

/**
 * Cohort scheduling (Larus and Parkes, "Using Cohort Scheduling to Enhance Server Performance", 2002). Work that is at
 * the same stage at the same time runs together, so that a stage's code and data are in the processor's caches for all
 * but the first member.
 * A single call that continues all members is enough: async functions then run in step, from `await` to `await`,
 * because promises continue in the order in which they were settled. Socket callbacks do not run in step: Node runs
 * each to the end of its promises before the next.
 */
export interface Cohort {
  /**
   * Calls `next` in the next turn of the event loop, or in a later one if the cohort is full. Callers must bound the
   * number of waiters.
   * @param next must not throw.
   * @param bytes of data it processes. Large work runs alone.
   */
  join(next: () => void, bytes?: number): void;
}

interface CohortLimits {
  /** Members per turn. More hold the event loop longer, fewer raise the cost of each. Default: 64. */
  readonly membersMax?: number;
  /** Bytes per turn. A single member may exceed it. Default: 256 kB. */
  readonly bytesMax?: number;
}

const MEMBERS_MAX = 64;
const BYTES_MAX = 256_000;

interface Member {
  readonly next: () => void;
  readonly bytes: number;
}

export const createCohort = ({ membersMax = MEMBERS_MAX, bytesMax = BYTES_MAX }: CohortLimits = {}): Cohort => {
  const waiting: Member[] = [];
  let isScheduled = false;

  const schedule = (): void => {
    if (isScheduled || waiting.length === 0) return;
    isScheduled = true;
    setImmediate(run);
  };

  /** Removes the members that run together next, in order of arrival. */
  const take = (): readonly Member[] => {
    let bytes = 0;
    const end = waiting.findIndex((member, index) => {
      bytes += member.bytes;
      return index === membersMax || (index > 0 && bytes > bytesMax);
    });
    return waiting.splice(0, end < 0 ? waiting.length : end);
  };

  const run = (): void => {
    isScheduled = false;
    const members = take();
    schedule();
    for (const { next } of members) next();
  };

  return {
    join: (next, bytes = 0) => {
      waiting.push({ next, bytes });
      schedule();
    },
  };
};

/** Overlapping calls share one; its result is not kept. */
export const shareCalls = <Result>(call: () => Promise<Result>): (() => Promise<Result>) => {
  let calling: Promise<Result> | undefined;
  return () => {
    calling ??= call().finally(() => {
      calling = undefined;
    });
    return calling;
  };
};
