import { StoreUnavailable, type System } from './system.ts';

/** Spreads retries, so that failures do not come back at once. */
const JITTER = 0.1;

/** A wait, jittered by ±10 %. @param random in [0, 1). */
export const jitter = (wait: number, random: number): number => wait * (1 - JITTER + 2 * JITTER * random);

const BYTES = 4;

/** A number in [0, 1), for jitter. */
export const random = ({ randomBytes }: Pick<System, 'randomBytes'>): number =>
  Buffer.from(randomBytes(BYTES)).readUInt32BE() / 2 ** (8 * BYTES);

/** Retries with doubling waits. All retries use this module. */
export interface RetryPolicy {
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
  readonly waitMsMin: number;
  readonly waitMsMax: number;
  /** Returns true if this fault is final. @param made attempts so far. */
  isFinal(error: unknown, made: number, elapsedMs: number): boolean;
  /** Called before each wait. */
  onWait?(): void;
}

/** @throws the error of the last attempt. */
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

/** Higher keeps the caller waiting, lower gives up on a brief fault. */
const TRIES_MAX = 4;
const WAIT_MS_MIN = 200;

/** Tries four times in about 1.4 s, after any fault. */
export const retry = <Result>(system: RetryPolicy['system'], work: () => Promise<Result>): Promise<Result> =>
  retryBy(
    { system, waitMsMin: WAIT_MS_MIN, waitMsMax: Number.POSITIVE_INFINITY, isFinal: (_, made) => made >= TRIES_MAX },
    work,
  );

/** How long a start waits for its engines. Longer hides a wrong address, shorter fails when both start at once. */
const START_PATIENCE_MS = 15_000;
/** The first wait covers a busy moment; the last one limits how late a recovery is noticed. */
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
 * Retries while the log or the database is unavailable, for `patienceMs` at most. For idempotent work that must survive
 * a busy moment, such as a start.
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
