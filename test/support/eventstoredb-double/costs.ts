import { setTimeout as sleep } from 'node:timers/promises';

/** What the server takes for its work. Nothing by default; all of it can be set at any time. */
export interface Costs {
  /** From a call's arrival to its work: the network and the disk. Seen on a machine of our own: 2; between sites: 30. */
  callMs: number;
  /** Of an append, which the server takes one after another, whatever call they came by. */
  appendMs: number;
  /** Reads served at once, catching up of subscriptions included; the others wait. A read holds its place for `callMs` too. */
  readsAtOnce: number;
  /** Events of `$all` looked at in a second by one read or subscription, whether they pass its filter or not. */
  scannedPerSecond: number;
}

export const freeOfCharge = (): Costs => ({
  callMs: 0,
  appendMs: 0,
  readsAtOnce: Number.POSITIVE_INFINITY,
  scannedPerSecond: Number.POSITIVE_INFINITY,
});

export const METHODS = ['append', 'readStream', 'readAll', 'subscribe'] as const;
export type Method = (typeof METHODS)[number];

/** What was asked of a method so far, and what it sent (an append: what it was sent). */
export interface Count {
  calls: number;
  events: number;
  /** Of data and metadata. */
  bytes: number;
}

export type Counts = Readonly<Record<Method, Readonly<Count>>>;

type Sized = { readonly data: Uint8Array; readonly metadata: Uint8Array };

export interface Counter {
  counts(): Counts;
  /** Streams read, one name for each call, in the order of the calls. */
  readonly streamsRead: readonly string[];
  /** Reads that are served or wait to be, and subscriptions that are catching up. */
  openReads(): number;
}

const SECOND_MS = 1_000;
/** Timers are no finer: time is taken in pieces of this. */
const OWED_MS_MIN = 4;

interface Caller {
  readonly cancelled: boolean;
  on(event: 'cancelled', listener: () => void): unknown;
}

/** The place of a read, from its turn to its end. */
export interface ReadPlace {
  /** Takes the time of looking at one event. */
  scan(): Promise<void>;
  /** What is scanned from now on costs nothing and blocks nothing: a subscription that has caught up. */
  leave(): void;
}

/** Makes calls take what they cost, and counts them. */
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
    await new Promise<void>((resolve) => waiting.push(resolve)); // who leaves hands the place over
  };

  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) served -= 1;
    else next();
  };

  /** The place of a call, once it has one. null: the caller has gone meanwhile. */
  const enter = async (call: Caller): Promise<ReadPlace | null> => {
    await turn();
    let left = false;
    let dueMs = Number.NEGATIVE_INFINITY;
    const place: ReadPlace = {
      // What the double itself takes for an event is part of its time.
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
    passed: (method: Method, events: readonly Sized[]): void => {
      counts[method].events += events.length;
      for (const { data, metadata } of events) counts[method].bytes += data.length + metadata.length;
    },
    /** Calls `work` when the call has arrived; those of one moment in their order. */
    arrive: (work: () => void): void => {
      const nowMs = performance.now();
      writtenMs = Math.max(writtenMs, nowMs + costs.callMs) + costs.appendMs;
      const waitMs = costs.appendMs > 0 ? writtenMs - nowMs : costs.callMs;
      if (waitMs > 0) setTimeout(work, waitMs);
      else work();
    },
    /** Does the work of a call when its turn has come, unless the caller has gone by then. */
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
