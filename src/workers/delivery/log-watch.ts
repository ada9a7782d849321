import type { EventStore } from '../../domain/kernel/event-store.ts';
import { type System, withTimeout } from '../../lib/async/async.ts';
import { repeat, type Work } from '../supervise.ts';

/**
 * Watches whether the log answers. A lease may end while the log is away, although its worker lives and knows the outcome.
 * The worker records it as soon as the log is back. Others must not treat the attempt as lost until then: they would
 * repeat it, and the recipient would get a second copy. Attempts that ran out of time in an outage are not the fault of
 * the mail server, and are repeated at once.
 */
export interface LogWatch {
  /** False while the log is away, and for some seconds after it is back: lost attempts wait. */
  isSettled(): boolean;
  /** Whether the log was away at any time since then. */
  wasAwaySince(monotonicMs: number): boolean;
  /** An append failed: a log may answer reads and refuse appends. */
  noteAway(): void;
  readonly work: Work;
}

/** Longer hides short outages, shorter costs queries. A lease outlives its attempt by ten times as much. */
const ASK_EVERY_MS = 1_000;
/** A log that answers later is treated as away. Shorter: a busy log delays the repetition of lost attempts. */
const ANSWER_MS_MAX = 2_000;
/**
 * How long others have for their outcomes when the log is back: several of their tries (`record.ts`), and new connections.
 * Shorter sends copies twice after an outage, longer delays the mail of workers that died in it.
 */
const SETTLE_MS = 5_000;

export const createLogWatch = ({ head }: Pick<EventStore, 'head'>, system: System): LogWatch => {
  let isAway = false;
  let lastAwayMs = Number.NEGATIVE_INFINITY;

  const noteAway = (): void => {
    lastAwayMs = system.monotonicMs();
  };

  const ask = async (): Promise<void> => {
    try {
      await withTimeout({ ms: ANSWER_MS_MAX }, head());
      if (isAway) noteAway();
      isAway = false;
    } catch {
      isAway = true;
      noteAway();
    }
  };

  return {
    isSettled: () => !isAway && system.monotonicMs() - lastAwayMs >= SETTLE_MS,
    wasAwaySince: (monotonicMs) => isAway || lastAwayMs >= monotonicMs,
    noteAway,
    work: repeat(system, async () => {
      await ask();
      return ASK_EVERY_MS;
    }),
  };
};
