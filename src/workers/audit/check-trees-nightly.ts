import { type Logger, pause, type System } from '../../lib/async/async.ts';
import type { TreeCheckResult } from '../../projections/audit/check/check-trees.ts';
import type { Leadership } from '../leadership.ts';
import type { Work } from '../supervise.ts';

/**
 * Checks the audit trees once a day, when its hour begins. A process that starts within the hour waits for the next day,
 * so that restarts do not repeat a check. The service continues regardless of the result.
 */
export interface CheckTreesNightly {
  /** Hour of the day in UTC. */
  readonly hour: number;
  check(signal: AbortSignal): Promise<TreeCheckResult>;
  /** Counts the faults of a check that was decided. */
  readonly onChecked?: ((faults: number) => void) | undefined;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  readonly system: Pick<System, 'now' | 'sleep'>;
  readonly logger: Logger;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** The next time at which the hour begins, after another. Both in milliseconds since 1970. */
const nextTime = (afterMs: number, hour: number): number => {
  const today = Math.floor(afterMs / DAY_MS) * DAY_MS + hour * HOUR_MS;
  return today > afterMs ? today : today + DAY_MS;
};

const logResult = (logger: Logger, { verdict, faults, faultCount, doubts, ...counts }: TreeCheckResult): void => {
  if (verdict === 'no fault') logger.info(counts, 'the audit trees were checked, and there is no fault');
  if (verdict === 'undecided') logger.warn({ doubts }, 'the audit trees could not be checked');
  if (verdict !== 'faults') return;
  for (const fault of faults) logger.error({ alarm: 'audit' }, `a check of the audit trees found a fault: ${fault}`);
  logger.error({ ...counts, alarm: 'audit', faults: faultCount }, 'the audit trees were checked, and there are faults');
};

export const checkTreesNightly = (options: CheckTreesNightly): Work => {
  const { hour, check, onChecked, leadership, system, logger } = options;

  const checkOnce = async (signal: AbortSignal): Promise<void> => {
    try {
      const checked = await check(signal);
      logResult(logger, checked);
      if (checked.verdict !== 'undecided') onChecked?.(checked.faultCount);
    } catch (error) {
      // Tomorrow again: a second try tonight would read the whole log once more.
      if (!signal.aborted) logger.warn({ err: error }, 'the audit trees could not be checked');
    }
  };

  return async (signal, working) => {
    let dueMs = nextTime(system.now().getTime(), hour);
    while (!signal.aborted) {
      await pause(system, dueMs - system.now().getTime(), signal);
      if (signal.aborted) return;
      if (leadership.isLeader()) await checkOnce(signal);
      working();
      // Timers may fire before the clock says so.
      dueMs = nextTime(Math.max(dueMs, system.now().getTime()), hour);
    }
  };
};
