import { DomainError } from '../domain-error.ts';

/** Longer keeps contents in the vault for mail that may never be wanted, shorter refuses a month's newsletter. */
export const SCHEDULE_DAYS_MAX = 30;
const DAY_MS = 86_400_000;

const problemOf = (scheduledAtMs: number, nowMs: number): string | null => {
  if (scheduledAtMs <= nowMs) return 'scheduled_at must be in the future';
  if (scheduledAtMs > nowMs + SCHEDULE_DAYS_MAX * DAY_MS) {
    return `scheduled_at must be at most ${SCHEDULE_DAYS_MAX} days ahead`;
  }
  return null;
};

/**
 * Both ISO 8601.
 * @throws {DomainError} `schedule_not_possible` unless a message accepted now could be sent then.
 */
export const requireSchedulable = (scheduledAt: string, now: string): void => {
  const problem = problemOf(Date.parse(scheduledAt), Date.parse(now));
  if (problem === null) return;
  throw new DomainError('schedule_not_possible', problem, { details: { scheduled_at: [problem] } });
};
