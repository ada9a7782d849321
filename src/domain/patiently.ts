import { StoreUnavailable } from './ports/event-store.ts';
import type { System } from './ports/system.ts';

/** How long what a start needs may be away: longer hides a wrong address, shorter fails where both start at once. */
export const START_PATIENCE_MS = 15_000;
/** Waits between tries double. The first: what a busy moment takes; the last: how late a recovery is noticed. */
const WAIT_MS_MIN = 100;
const WAIT_MS_MAX = 1_000;
/** How often waiting is said. */
const TELL_EVERY_MS = 5_000;

export interface Patience {
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
  /** Default: `START_PATIENCE_MS`. */
  readonly patienceMs?: number | undefined;
  /** Called when it has begun to wait, and every few seconds. */
  onWait?(): void;
}

const telling = ({ monotonicMs }: Patience['system'], onWait: Patience['onWait']): (() => void) => {
  let nextMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (monotonicMs() < nextMs) return;
    nextMs = monotonicMs() + TELL_EVERY_MS;
    onWait?.();
  };
};

/**
 * Tries again, with back-off, while the log or the database is away: for what can be repeated and must not fail because
 * of a busy moment, as at a start.
 * @throws what the last try threw: another fault, or that the log or the database was away all the time.
 */
export const patiently = async <Result>(
  { system, patienceMs = START_PATIENCE_MS, onWait }: Patience,
  work: () => Promise<Result>,
): Promise<Result> => {
  const deadlineMs = system.monotonicMs() + patienceMs;
  const tell = telling(system, onWait);
  for (let waitMs = WAIT_MS_MIN; ; waitMs = Math.min(2 * waitMs, WAIT_MS_MAX)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || system.monotonicMs() >= deadlineMs) throw error;
    }
    tell();
    await system.sleep(waitMs);
  }
};
