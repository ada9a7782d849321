import { pause } from '../../async/with-timeout.ts';
import type { System } from '../../domain/ports/system.ts';

/** Names that wait for a time each, with one timer for all of them. */
export interface Appointments {
  /** Once, in place of any other time that it had. @param atMs of the clock that never runs backwards. */
  set(name: string, atMs: number): void;
  /** Nobody is met any more. */
  close(): void;
}

/**
 * A time is met late by so much at most: so often at most are all looked at, which takes about 1 ms for 20,000. Shorter costs
 * more of it, longer has more places of a rate used in one go.
 */
const TICK_MS = 20;

/** @param meet must not fail. */
export const createAppointments = (
  system: Pick<System, 'monotonicMs' | 'sleep'>,
  meet: (name: string) => void,
): Appointments => {
  const times = new Map<string, number>();
  let timer = new AbortController();
  let ringsMs = Number.POSITIVE_INFINITY;
  let closed = false;

  const first = (): number => {
    let ms = Number.POSITIVE_INFINITY;
    for (const atMs of times.values()) ms = Math.min(ms, atMs);
    return ms;
  };

  const takeOver = (nowMs: number): readonly string[] => {
    const names: string[] = [];
    for (const [name, atMs] of times) if (atMs <= nowMs) names.push(name);
    for (const name of names) times.delete(name);
    return names;
  };

  const ring = (): void => {
    for (const name of takeOver(system.monotonicMs())) meet(name);
    ringsMs = Number.POSITIVE_INFINITY;
    ringBy(first());
  };

  const sleepUntil = async (atMs: number, signal: AbortSignal): Promise<void> => {
    await pause(system, Math.max(TICK_MS, atMs - system.monotonicMs()), signal);
    if (!signal.aborted) ring();
  };

  const ringBy = (atMs: number): void => {
    if (closed || atMs >= ringsMs) return;
    timer.abort();
    timer = new AbortController();
    ringsMs = atMs;
    void sleepUntil(atMs, timer.signal);
  };

  return {
    set: (name, atMs) => {
      times.set(name, atMs);
      ringBy(atMs);
    },
    close: () => {
      closed = true;
      timer.abort();
      times.clear();
    },
  };
};
