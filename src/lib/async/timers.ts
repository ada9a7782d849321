import type { System } from './system.ts';
import { ENDED, pause } from './with-timeout.ts';

/** Deadlines by name, with one underlying timer for all of them. */
export interface Timers {
  /** Replaces the name's deadline. @param atMs of the monotonic clock. */
  set(name: string, atMs: number): void;
  /** Cancels all. */
  close(): void;
}

/**
 * Resolution: a timer fires at most this late. Each tick scans all deadlines, about 1 ms for 20,000. Shorter scans more
 * often, longer uses several slots of a rate limit in one burst.
 */
const TICK_MS = 20;

/** @param fire must not throw. */
export const createTimers = (system: Pick<System, 'monotonicMs' | 'sleep'>, fire: (name: string) => void): Timers => {
  const deadlines = new Map<string, number>();
  let sleeping = new AbortController();
  let wakesMs = Number.POSITIVE_INFINITY;
  let closed = false;

  const earliest = (): number => {
    let ms = Number.POSITIVE_INFINITY;
    for (const atMs of deadlines.values()) ms = Math.min(ms, atMs);
    return ms;
  };

  const takeExpired = (nowMs: number): readonly string[] => {
    const names: string[] = [];
    for (const [name, atMs] of deadlines) if (atMs <= nowMs) names.push(name);
    for (const name of names) deadlines.delete(name);
    return names;
  };

  const tick = (): void => {
    for (const name of takeExpired(system.monotonicMs())) fire(name);
    wakesMs = Number.POSITIVE_INFINITY;
    wakeBy(earliest());
  };

  const sleepUntil = async (atMs: number, signal: AbortSignal): Promise<void> => {
    await pause(system, Math.max(TICK_MS, atMs - system.monotonicMs()), signal);
    if (!signal.aborted) tick();
  };

  const wakeBy = (atMs: number): void => {
    if (closed || atMs >= wakesMs) return;
    sleeping.abort(ENDED);
    sleeping = new AbortController();
    wakesMs = atMs;
    void sleepUntil(atMs, sleeping.signal);
  };

  return {
    set: (name, atMs) => {
      deadlines.set(name, atMs);
      wakeBy(atMs);
    },
    close: () => {
      closed = true;
      sleeping.abort(ENDED);
      deadlines.clear();
    },
  };
};
