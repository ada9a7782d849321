import type { System } from '../../domain/system.ts';
import type { Duty } from '../duty.ts';
import { repeat, type Work } from '../keep-running.ts';
import { batched, type DeliveryQueue, type DueMessage } from './delivery-job.ts';
import type { RecentlyAdded } from './recently-added.ts';

/** The timetable: what is due at or before a time (ISO 8601), longest overdue first. */
export type DueDeliveries = (query: {
  readonly before: string;
  readonly limit: number;
}) => Promise<readonly (DueMessage & { readonly dueAt: string })[]>;

export interface SweepDeliveries {
  readonly dueDeliveries: DueDeliveries;
  readonly queue: DeliveryQueue;
  readonly recentlyAdded: RecentlyAdded;
  readonly duty: Pick<Duty, 'isOn'>;
  readonly system: System;
}

/** How late a retry or a scheduled message may be; each sweep of nothing costs two small queries. */
const EVERY_MS = 500;
/** While there is more to be done than fits one sweep, so that workers do not run dry. */
const EVERY_MS_BUSY = 100;
/**
 * Overdue by less is left alone: another process may have just dispatched it, or done it already where the timetable
 * has not caught up. Shorter does such things twice, longer delays retries.
 */
const AGE_MS_MIN = 500;
/** Jobs in the queue above which nothing is swept: what is due is probably among them. */
const LOW_WATER_JOBS = 10;
/** Messages of one sweep: about what workers do until the next. More pile up in the queue, fewer leave workers idle. */
const SWEEP_MESSAGES_MAX = 2000;

/**
 * Puts what is due and in nobody's hands into the queue: messages whose time has come, retries, attempts whose lease
 * has ended, and whatever a queue that was wiped has lost.
 */
export const sweepDeliveries = ({ dueDeliveries, queue, recentlyAdded, duty, system }: SweepDeliveries): Work =>
  repeat(system, async () => {
    if (!duty.isOn()) return EVERY_MS;
    if ((await queue.depth()) > LOW_WATER_JOBS) return EVERY_MS_BUSY;
    const before = new Date(system.now().getTime() - AGE_MS_MIN).toISOString();
    const due = await dueDeliveries({ before, limit: SWEEP_MESSAGES_MAX });
    const missing = due.filter(({ messageId, dueAt }) => !recentlyAdded.has(messageId, dueAt));
    if (missing.length > 0) await queue.add(batched(missing));
    recentlyAdded.add(missing.map(({ messageId }) => messageId));
    return missing.length < SWEEP_MESSAGES_MAX ? EVERY_MS : EVERY_MS_BUSY;
  });
