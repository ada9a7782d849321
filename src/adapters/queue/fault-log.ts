import type { Logger } from '../../domain/ports/logger.ts';
import type { System } from '../../domain/ports/system.ts';

/** An engine that is away fails many times a second; the log needs to hear of it now and then. Longer hides a change of cause. */
const QUIET_MS = 10_000;

/** Logs an engine's faults: the first at once, then at most one per `QUIET_MS` with the number of those in between. */
export const createFaultLog = (system: System, logger: Logger, queue: string): ((fault: unknown) => void) => {
  let quietUntil = 0;
  let unsaid = 0;
  return (err) => {
    const now = system.monotonicMs();
    if (now < quietUntil) {
      unsaid += 1;
      return;
    }
    logger.warn({ queue, err, since_last: unsaid }, 'the queue engine reports a fault');
    quietUntil = now + QUIET_MS;
    unsaid = 0;
  };
};
