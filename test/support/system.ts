import { setImmediate as turn } from 'node:timers/promises';
import type { System } from '../../src/lib/async/async.ts';

export interface SteppableSystem extends System {
  /** Advances the clock and wakes sleepers in order of their times. Pending work runs in between. */
  advance(ms: number): Promise<void>;
}

export interface SteppableSystemOptions {
  /** The same seed gives the same ids and bytes. */
  readonly seed?: number;
  readonly start?: string;
}

interface Sleeper {
  readonly dueMs: number;
  readonly wake: () => void;
}

/** mulberry32: small, seeded and good enough for tests. */
const createRandom = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
};

/** A UUID from 16 random bytes (RFC 9562 §5.4). */
const asUuid = (bytes: Uint8Array): string => {
  const stamped = bytes.map((byte, index) =>
    index === 6 ? (byte & 0x0f) | 0x40 : index === 8 ? (byte & 0x3f) | 0x80 : byte,
  );
  return Buffer.from(stamped)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};

/** A clock that moves only on `advance`, and repeatable randomness. */
export const createSteppableSystem = (options: SteppableSystemOptions = {}): SteppableSystem => {
  const startMs = Date.parse(options.start ?? '2026-01-01T00:00:00.000Z');
  const random = createRandom(options.seed ?? 1);
  const sleepers = new Set<Sleeper>();
  let elapsedMs = 0;

  const randomBytes = (length: number): Uint8Array => Uint8Array.from({ length }, () => random() & 0xff);

  const nextDue = (untilMs: number): Sleeper | undefined =>
    [...sleepers].filter(({ dueMs }) => dueMs <= untilMs).sort((a, b) => a.dueMs - b.dueMs)[0];

  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const abort = (): void => {
        sleepers.delete(sleeper);
        reject(signal?.reason);
      };
      const sleeper: Sleeper = {
        dueMs: elapsedMs + ms,
        wake: () => {
          sleepers.delete(sleeper);
          signal?.removeEventListener('abort', abort);
          resolve();
        },
      };
      if (signal?.aborted === true) return reject(signal.reason);
      signal?.addEventListener('abort', abort, { once: true });
      sleepers.add(sleeper);
    });

  return {
    now: () => new Date(startMs + elapsedMs),
    monotonicMs: () => elapsedMs,
    randomBytes,
    uuid: () => asUuid(randomBytes(16)),
    sleep,
    advance: async (ms) => {
      const untilMs = elapsedMs + ms;
      await turn();
      for (let next = nextDue(untilMs); next !== undefined; next = nextDue(untilMs)) {
        elapsedMs = Math.max(elapsedMs, next.dueMs);
        next.wake();
        await turn();
      }
      elapsedMs = untilMs;
    },
  };
};
