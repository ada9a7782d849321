import { setTimeout as sleep } from 'node:timers/promises';

/** Cost of each operation. Zero by default. Each can be changed at any time. */
export interface Costs {
  /** Latency between a call's arrival and its work: network and disk. Measured: 2 on one machine, 30 between sites. */
  callMs: number;
  /** Time for one append. Appends run one after another, whichever call carried them. */
  appendMs: number;
  /**
   * Concurrent reads, including subscriptions that are catching up. The others wait. A read holds its slot for `callMs`
   * too.
   */
  readsAtOnce: number;
  /** Events of `$all` that one read or subscription scans per second, whether or not they pass its filter. */
  scannedPerSecond: number;
}

export const freeOfCharge = (): Costs => ({
  callMs: 0,
  appendMs: 0,
  readsAtOnce: Number.POSITIVE_INFINITY,
  scannedPerSecond: Number.POSITIVE_INFINITY,
});

const METHODS = ['append', 'readStream', 'readAll', 'subscribe'] as const;
export type Method = (typeof METHODS)[number];

/** Calls of a method so far, and the events that it sent (for an append: received). */
interface Count {
  calls: number;
  events: number;
  /** Bytes of data and metadata. */
  bytes: number;
}

type Counts = Readonly<Record<Method, Readonly<Count>>>;

type EventBytes = { readonly data: Uint8Array; readonly metadata: Uint8Array };

export interface Counter {
  counts(): Counts;
  /** Names of the streams read, one for each call, in order. */
  readonly streamsRead: readonly string[];
  /** Reads that are running or waiting, and subscriptions that are catching up. */
  openReads(): number;
}

const SECOND_MS = 1_000;
/** Timers are no finer: time is spent in units of at least this length. */
const OWED_MS_MIN = 4;

interface Caller {
  readonly cancelled: boolean;
  on(event: 'cancelled', listener: () => void): unknown;
}

/** The slot of a read, from its start to its end. */
export interface ReadPlace {
  /** Spends the time needed to scan one event. */
  scan(): Promise<void>;
  /** Frees the slot: later scans cost nothing and block nothing. Used when a subscription has caught up. */
  leave(): void;
}

/** Delays calls by their cost, and counts them. */
export const createToll = (costs: Costs) => {
  const counts: Record<Method, Count> = {
    append: { calls: 0, events: 0, bytes: 0 },
    readStream: { calls: 0, events: 0, bytes: 0 },
    readAll: { calls: 0, events: 0, bytes: 0 },
    subscribe: { calls: 0, events: 0, bytes: 0 },
  };
  const streamsRead: string[] = [];
  const waiting: (() => void)[] = [];
  let served = 0;
  let writtenMs = 0;

  const turn = async (): Promise<void> => {
    if (served < costs.readsAtOnce) {
      served += 1;
      return;
    }
    await new Promise<void>((resolve) => waiting.push(resolve)); // a call that leaves hands over its slot
  };

  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) served -= 1;
    else next();
  };

  /** Waits for a slot. Returns null if the caller has gone by then. */
  const enter = async (call: Caller): Promise<ReadPlace | null> => {
    await turn();
    let left = false;
    let dueMs = Number.NEGATIVE_INFINITY;
    const place: ReadPlace = {
      // The double's own processing time for an event counts towards the cost.
      scan: async () => {
        if (left) return;
        const nowMs = performance.now();
        dueMs = Math.max(dueMs, nowMs - OWED_MS_MIN) + SECOND_MS / costs.scannedPerSecond;
        if (dueMs - nowMs >= OWED_MS_MIN) await sleep(dueMs - nowMs);
      },
      leave: () => {
        if (!left) leave();
        left = true;
      },
    };
    call.on('cancelled', place.leave);
    if (costs.callMs > 0 && !call.cancelled) await sleep(costs.callMs);
    if (!call.cancelled) return place;
    place.leave();
    return null;
  };

  return {
    called: (method: Method): void => {
      counts[method].calls += 1;
    },
    streamRead: (name: string): void => {
      streamsRead.push(name);
    },
    passed: (method: Method, events: readonly EventBytes[]): void => {
      counts[method].events += events.length;
      for (const { data, metadata } of events) counts[method].bytes += data.length + metadata.length;
    },
    /** Calls `work` when the call has arrived. Calls of the same moment keep their order. */
    arrive: (work: () => void): void => {
      const nowMs = performance.now();
      writtenMs = Math.max(writtenMs, nowMs + costs.callMs) + costs.appendMs;
      const waitMs = costs.appendMs > 0 ? writtenMs - nowMs : costs.callMs;
      if (waitMs > 0) setTimeout(work, waitMs);
      else work();
    },
    /** Runs the work of a call when it has a slot, unless the caller has gone by then. */
    placed: async (call: Caller, work: (place: ReadPlace) => Promise<void>): Promise<void> => {
      const place = await enter(call);
      if (place !== null) await work(place).finally(place.leave);
    },
    counter: {
      counts: () => structuredClone(counts),
      streamsRead,
      openReads: () => served + waiting.length,
    } satisfies Counter,
  };
};

export type Toll = ReturnType<typeof createToll>;
