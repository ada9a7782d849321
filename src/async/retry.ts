import { StoreUnavailable } from '../domain/ports/event-store.ts';
import type { System } from '../domain/ports/system.ts';

/** Tries again after a fault, with waits that double. Everything that repeats a call goes through here. */
export interface RetryPolicy {
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
  readonly waitMsMin: number;
  readonly waitMsMax: number;
  /** Whether this fault is final. @param made tries so far. */
  isFinal(error: unknown, made: number, elapsedMs: number): boolean;
  /** Called before each wait. */
  onWait?(): void;
}

/** @throws what the last try threw. */
export const retryBy = async <Result>(policy: RetryPolicy, work: () => Promise<Result>): Promise<Result> => {
  const { system, waitMsMax, onWait } = policy;
  const beganMs = system.monotonicMs();
  let waitMs = policy.waitMsMin;
  for (let made = 1; ; made += 1) {
    try {
      return await work();
    } catch (error) {
      if (policy.isFinal(error, made, system.monotonicMs() - beganMs)) throw error;
    }
    onWait?.();
    await system.sleep(waitMs);
    waitMs = Math.min(2 * waitMs, waitMsMax);
  }
};

/** More tries keep the caller waiting, fewer give up on a blip. With the waits below it is about 1.4 s in all. */
const TRIES_MAX = 4;
const WAIT_MS_MIN = 200;

/** Four tries in about 1.4 s, whatever the fault. */
export const retry = <Result>(system: RetryPolicy['system'], work: () => Promise<Result>): Promise<Result> =>
  retryBy(
    { system, waitMsMin: WAIT_MS_MIN, waitMsMax: Number.POSITIVE_INFINITY, isFinal: (_, made) => made >= TRIES_MAX },
    work,
  );

/** How long what a start needs may be away: longer hides a wrong address, shorter fails where both start at once. */
export const START_PATIENCE_MS = 15_000;
/** The first wait: what a busy moment takes; the last: how late a recovery is noticed. */
const AWAY_WAIT_MS_MIN = 100;
const AWAY_WAIT_MS_MAX = 1_000;
const NOTICE_EVERY_MS = 5_000;

export interface Patience {
  readonly system: RetryPolicy['system'];
  /** Default: `START_PATIENCE_MS`. */
  readonly patienceMs?: number | undefined;
  /** Called when the wait begins, and every few seconds. */
  onWait?(): void;
}

const occasionally = ({ system, onWait }: Patience): (() => void) => {
  let nextMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (system.monotonicMs() < nextMs) return;
    nextMs = system.monotonicMs() + NOTICE_EVERY_MS;
    onWait?.();
  };
};

/**
 * Tries for as long as the log or the database is away, within `patienceMs`: for what can be repeated and must not fail
 * because of a busy moment, such as a start.
 */
export const retryWhileAway = <Result>(patience: Patience, work: () => Promise<Result>): Promise<Result> => {
  const { system, patienceMs = START_PATIENCE_MS } = patience;
  return retryBy(
    {
      system,
      waitMsMin: AWAY_WAIT_MS_MIN,
      waitMsMax: AWAY_WAIT_MS_MAX,
      isFinal: (error, _, elapsedMs) => !(error instanceof StoreUnavailable) || elapsedMs >= patienceMs,
      onWait: occasionally(patience),
    },
    work,
  );
};
