import {
  type BillingContext,
  BillingContradiction,
  type CountRecipients,
  closePeriod,
  countedTwice,
  type MonthOfOrganization,
  monthsBefore,
  positionBeforeMonth,
  recordQuota,
} from '../commands/billing.ts';
import { type BilledOrganization, quotaLevel } from '../domain/billing/invoice.ts';
import {
  BUILT_IN_PLANS,
  type Month,
  monthOf,
  nextMonth,
  planOf,
  previousMonth,
  requirePeriod,
} from '../domain/billing/plan.ts';
import { LOG_START, type Position } from '../domain/kernel/event-store.ts';
import type { Logger } from '../lib/async/async.ts';
import type { BillingRecount } from '../projections/billing-recount.ts';
import type { Organizations } from './in-memory-projections.ts';
import { type Leadership, repeat, type Work } from './supervise.ts';

/** Queries of the read model of billing. */
export interface BillingQueries {
  readonly count: CountRecipients;
  /** The last month with an invoice, by organization. */
  lastInvoices(): Promise<ReadonlyMap<string, Month>>;
  /** Recipients of a time by organization, of those that have any. */
  recipients(by: {
    readonly organizationIds: readonly string[];
    readonly start: string;
    readonly end: string;
  }): Promise<ReadonlyMap<string, number>>;
  /** Counts again, from events of the log after a position. */
  recount(from: Position): BillingRecount;
  /** Waits until the read model has counted up to a position. @returns false: not in time. */
  upTo(position: Position): Promise<boolean>;
}

export interface WatchBilling extends BillingContext {
  readonly billing: BillingQueries;
  readonly organizations: Organizations;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  readonly logger: Logger;
  /** Counts the organizations that are not billed because their count is wrong. */
  readonly onStopped?: ((organizations: number) => void) | undefined;
}

const billedOf = (organizations: Organizations): readonly BilledOrganization[] =>
  [...organizations.values()].filter((state) => state.status === 'active');

/** A month is closed so long after its end: clocks differ, and events of its last moments arrive. */
const CLOSE_AFTER_MS = 3_600_000;
/** How late an invoice may be besides. */
const CLOSE_EVERY_MS = 30_000;
/** While there is more to close. */
const BUSY_MS = 100;
/** Invoices of one look. More keep other work of the process waiting. */
const CLOSED_MAX = 100;

/** A wrong count is looked at again so late. Sooner repeats the alarm, later keeps an organization whose count was mended waiting. */
const STOPPED_MS = 3_600_000;

/**
 * Closes the months that have ended, in order, with an invoice for each organization. Each count is compared with the log
 * before: a read model that was changed in the database is not invoiced, and alarms.
 */
export const closePeriods = (options: WatchBilling): Work => {
  const { billing, organizations, leadership, logger, onStopped, ...context } = options;
  let closed: Map<string, Month> | null = null;
  /** One for all that is due: the log is read once. */
  let recount: BillingRecount | null = null;
  /** Invoices whose events are in it. */
  const covered = new Set<string>();
  /** Organizations with a wrong count, and when they are looked at again. */
  const stopped = new Map<string, number>();
  const nowMs = (): number => context.system.now().getTime();

  const isStopped = ({ organizationId }: MonthOfOrganization): boolean => (stopped.get(organizationId) ?? 0) > nowMs();

  /** The events of the months that an invoice counts. */
  const recountFor = async (some: readonly MonthOfOrganization[]): Promise<BillingRecount> => {
    const idOf = ({ organizationId, month }: MonthOfOrganization): string => `${organizationId} ${month}`;
    const further = some.filter((one) => !covered.has(idOf(one)));
    const starts = await Promise.all(
      further.map(({ organizationId, month }) =>
        positionBeforeMonth(context, { organizationId, month: monthsBefore(month).at(-1) ?? month }),
      ),
    );
    for (const one of further) covered.add(idOf(one));
    const from = starts.toSorted()[0] ?? recount?.from ?? LOG_START;
    return recount !== null && recount.from <= from ? recount : billing.recount(from);
  };

  const close = async (one: MonthOfOrganization, from: BillingRecount): Promise<void> => {
    const { organizationId, month } = one;
    try {
      await closePeriod(context, { ...one, count: countedTwice(billing.count, from.upTo) });
      closed?.set(organizationId, month);
      stopped.delete(organizationId);
    } catch (error) {
      if (!(error instanceof BillingContradiction)) throw error;
      stopped.set(organizationId, nowMs() + STOPPED_MS);
      logger.error(
        { organizationId, month, alarm: 'billing' },
        `${month} is not invoiced, because the read model of billing was changed in the database or is wrong: ${error.message}. Find out who changed it, then run \`outbox projections rebuild billing\``,
      );
    }
  };

  /** The month to close next; null: all are closed. */
  const dueOf = ({ organizationId, createdAt }: BilledOrganization, last: Month): Month | null => {
    const before = closed?.get(organizationId);
    const due = before === undefined ? monthOf(createdAt) : nextMonth(before);
    return due <= last ? due : null;
  };

  const due = (last: Month): readonly MonthOfOrganization[] =>
    billedOf(organizations).flatMap((billed) => {
      const month = dueOf(billed, last);
      return month === null ? [] : [{ organizationId: billed.organizationId, month }];
    });

  return repeat(context.system, async () => {
    if (!leadership.isLeader()) return CLOSE_EVERY_MS;
    closed ??= new Map(await billing.lastInvoices());
    const last = previousMonth(monthOf(new Date(nowMs() - CLOSE_AFTER_MS).toISOString()));
    const all = due(last).filter((one) => !isStopped(one));
    if (all.length === 0) {
      recount = null;
      covered.clear();
      return CLOSE_EVERY_MS;
    }
    if (!(await billing.upTo(await context.store.head()))) return BUSY_MS;
    recount = await recountFor(all);
    for (const one of all.slice(0, CLOSED_MAX)) await close(one, recount);
    onStopped?.(stopped.size);
    return BUSY_MS;
  });
};

/** How late an organization is warned. */
const QUOTAS_EVERY_MS = 5_000;
/** Organizations of one query. */
const QUOTAS_MAX = 500;

/** Records once a month that an organization has used most of its quota, and that it has used all of it. */
export const watchQuotas = ({ billing, organizations, leadership, ...context }: WatchBilling): Work => {
  const { system, plans = BUILT_IN_PLANS } = context;
  /** Organizations that were warned or notified of an exceeded quota in `told.month`. */
  let told = { month: '', levels: new Map<string, string>() };

  const watchSome = async (now: string, some: readonly BilledOrganization[]): Promise<void> => {
    const month = monthOf(now);
    const organizationIds = some.map(({ organizationId }) => organizationId);
    const recipients = await billing.recipients({ organizationIds, ...requirePeriod(month) });
    for (const billed of some) {
      const { organizationId } = billed;
      const plan = planOf(billed, plans, now);
      const used = recipients.get(organizationId) ?? 0;
      const level = quotaLevel(plan, used);
      if (level === null || told.levels.get(organizationId) === level) continue;
      await recordQuota(context, { organizationId, month, plan, used });
      told.levels.set(organizationId, level);
    }
  };

  return repeat(system, async () => {
    if (!leadership.isLeader()) return QUOTAS_EVERY_MS;
    const now = system.now().toISOString();
    const month = monthOf(now);
    if (told.month !== month) told = { month, levels: new Map() };
    const limited = billedOf(organizations).filter(
      (billed) =>
        quotaLevel(planOf(billed, plans, now), Number.MAX_SAFE_INTEGER) !== null &&
        told.levels.get(billed.organizationId) !== 'exceeded',
    );
    for (let from = 0; from < limited.length; from += QUOTAS_MAX) {
      await watchSome(now, limited.slice(from, from + QUOTAS_MAX));
    }
    return QUOTAS_EVERY_MS;
  });
};
