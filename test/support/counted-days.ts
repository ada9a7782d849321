import type { CountedDays } from '../../src/domain/billing/invoice.ts';
import { LOG_START, type Position } from '../../src/domain/kernel/event-store.ts';

/** Days with recipient counts, from events after a position in the log. */
export const countedDays = (
  days: Iterable<readonly [date: string, recipients: number]>,
  after: Position = LOG_START,
): CountedDays => new Map([...days].map(([date, recipients]) => [date, { recipients, after }]));
