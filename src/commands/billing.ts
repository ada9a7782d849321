import {
  type BillingPeriod,
  billingPeriod,
  type CountedDays,
  closeInvoice,
  differencesOf,
  type Invoice,
  invoiceIdOf,
  LATE_MONTHS,
  type TellQuota,
  tellQuota,
} from '../domain/billing/invoice.ts';
import { BUILT_IN_PLANS, type Month, previousMonth, requirePeriod } from '../domain/billing/plan.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import { LOG_START, type Position, type Revision } from '../domain/kernel/event-store.ts';
import type { BillingPeriodEvent } from '../domain/kernel/events.ts';
import { isId } from '../domain/kernel/ids.ts';
import { invoiceStream, organizationStream } from '../domain/kernel/streams.ts';
import { organization, requireOrganization } from '../domain/organization/organization.ts';
import { mapConcurrently } from '../lib/async/async.ts';
import { type CommandContext, type CommandResult, eventContext, execute, internalOrigin, load } from './execute.ts';
import { readStream } from './foreign-events.ts';

export type BillingContext = Pick<CommandContext, 'store' | 'system' | 'plans'>;

/** Days from `start` to before `end` (dates) that have any messages, and the event of the log up to which they are counted. */
export type CountRecipients = (by: {
  readonly organizationId: string;
  readonly start: string;
  readonly end: string;
}) => Promise<{ readonly days: CountedDays; readonly countedTo: Invoice['countedTo'] }>;

/** The read model of billing does not have the recipients that the log has. Nothing is invoiced until it does. */
export class BillingContradiction extends Error {
  override readonly name = 'BillingContradiction';
}

/**
 * Counts twice: in the read model, and in the log.
 * @throws {BillingContradiction} they differ.
 */
export const countedTwice =
  (
    count: CountRecipients,
    recount: (position: Position, by: Parameters<CountRecipients>[0]) => Promise<CountedDays>,
  ): CountRecipients =>
  async (by) => {
    const counted = await count(by);
    const differences = differencesOf(counted.days, await recount(counted.countedTo.position, by));
    if (differences.length > 0) throw new BillingContradiction(differences.join('; '));
    return counted;
  };

/** A position before all events about messages that an organization accepts from the start of a month on. */
export const positionBeforeMonth = async (
  { store }: Pick<CommandContext, 'store'>,
  { organizationId, month }: MonthOfOrganization,
): Promise<Position> => {
  const { start } = requirePeriod(month);
  const { state } = await load(store, billingPeriod, invoiceStream(invoiceIdOf(organizationId, previousMonth(month))));
  // An invoice that was closed late counts events of later months too.
  const { position = LOG_START, at = null } = state.invoice?.countedTo ?? {};
  if (at !== null && at < start) return position;
  const [created] = await readStream(store, organizationStream(organizationId), { limit: 1 });
  return created?.position ?? LOG_START;
};

export interface MonthOfOrganization {
  readonly organizationId: string;
  readonly month: Month;
}

const change = (
  { store, system }: BillingContext,
  actor: string,
  { organizationId, month }: MonthOfOrganization,
  decide: (state: BillingPeriod) => readonly BillingPeriodEvent[],
): Promise<CommandResult<BillingPeriod, BillingPeriodEvent>> => {
  const origin = internalOrigin({ actor, organizationId, environment: 'live', causeId: `${organizationId}.${month}` });
  return execute(
    { store, system },
    {
      aggregate: billingPeriod,
      stream: invoiceStream(invoiceIdOf(organizationId, month)),
      context: eventContext(origin, system.now().toISOString()),
      decide,
    },
  );
};

export interface ClosedInvoice {
  readonly invoice: Invoice;
  /** ISO 8601. */
  readonly closedAt: string;
}

interface InvoiceAtRevision extends ClosedInvoice {
  readonly revision: Revision;
}

/** An invoice as it was closed; null: it does not exist. */
const findInvoice = async (
  { store }: Pick<CommandContext, 'store'>,
  invoiceId: string,
): Promise<InvoiceAtRevision | null> => {
  const events = isId('inv', invoiceId) ? await readStream(store, invoiceStream(invoiceId)) : [];
  const closed = events.find((event) => event.type === 'InvoiceClosed');
  if (closed === undefined) return null;
  return { invoice: closed.data, closedAt: closed.metadata.occurredAt, revision: closed.revision };
};

/** @throws {DomainError} `not_found`, `other_organization`. */
export const loadInvoice = async (
  context: Pick<CommandContext, 'store'>,
  organizationId: string,
  invoiceId: string,
): Promise<InvoiceAtRevision> => {
  const found = await findInvoice(context, invoiceId);
  if (found === null) throw new DomainError('not_found', 'invoice not found');
  if (found.invoice.organizationId !== organizationId) {
    throw new DomainError('other_organization', 'invoice belongs to another organization');
  }
  return found;
};

/** Streams read at once. More takes connections from other requests, fewer makes lists slower. */
const CONCURRENCY = 4;

/** The invoices of these months, without those that do not exist. */
export const loadInvoicesOf = async (
  { store, system }: BillingContext,
  organizationId: string,
  months: readonly Month[],
): Promise<readonly ClosedInvoice[]> => {
  const found = await mapConcurrently(months, { system, concurrency: CONCURRENCY }, (month) =>
    findInvoice({ store }, invoiceIdOf(organizationId, month)),
  );
  return found.filter((invoice) => invoice !== null);
};

/** Records that a quota is nearly or wholly used, each once a month, however many processes see it. */
export const recordQuota = async (context: BillingContext, command: TellQuota): Promise<void> => {
  await change(context, 'worker:watch-quotas', command, (state) => tellQuota(state, command));
};

/** The months before, as far back as there are late facts; the latest first. */
export const monthsBefore = (month: Month, count = LATE_MONTHS): readonly Month[] =>
  count === 0 ? [] : [previousMonth(month), ...monthsBefore(previousMonth(month), count - 1)];

/**
 * Closes a month of an organization with an invoice, once, however many processes try. The months before are closed.
 * @throws {DomainError} `not_found`.
 */
export const closePeriod = async (
  context: BillingContext,
  { organizationId, month, count }: MonthOfOrganization & { readonly count: CountRecipients },
): Promise<void> => {
  const { store, plans = BUILT_IN_PLANS } = context;
  const period = requirePeriod(month);
  const before = monthsBefore(month);
  const since = before.at(-1) ?? month;
  const billed = requireOrganization((await load(store, organization, organizationStream(organizationId))).state);
  const earlier: Invoice[] = [];
  for (const one of before) {
    const { state } = await load(store, billingPeriod, invoiceStream(invoiceIdOf(organizationId, one)));
    if (state.invoice !== null) earlier.push(state.invoice);
  }
  const counted = await count({ organizationId, start: requirePeriod(since).start, end: period.end });
  const facts = { billed, plans, period, earlier, since, ...counted };
  await change(context, 'worker:close-periods', { organizationId, month }, (state) => closeInvoice(state, facts));
};
