import type { CountedDays, Invoice } from '../domain/billing/invoice.ts';
import type { Month } from '../domain/billing/plan.ts';
import { dayOf } from '../domain/kernel/event.ts';
import { LOG_START, type Position, type RecordedEvent } from '../domain/kernel/event-store.ts';
import type { BillingPeriodEvent, MessageEvent } from '../domain/kernel/events.ts';
import { SERVICE_SENDER } from '../domain/message/events.ts';
import {
  asRecords,
  type Database,
  type ListCursor,
  type ListPage,
  pageOf,
  rowsInto,
  rowsToAsk,
} from '../lib/projections/projections.ts';
import { positionBefore } from './events/queries.ts';
import { defineProjection, earlierMessages } from './projection.ts';

/** Invoices, in a table of the read model of billing: which months have one. What they say is read from the log. */

/** Processes of an earlier version read `closedAt` and `invoice`. */
interface InvoiceRow {
  readonly organizationId: string;
  readonly month: string;
  readonly invoiceId: string;
  readonly closedAt: string;
  readonly invoice: string;
}

const insertInvoices = rowsInto<InvoiceRow>('billing_invoices', {
  organization_id: 'organizationId',
  month: 'month',
  invoice_id: 'invoiceId',
  closed_at: 'closedAt',
  invoice: 'invoice',
});

const invoiceRow = (invoice: Invoice, closedAt: string): InvoiceRow => {
  const { organizationId, month, invoiceId } = invoice;
  return { organizationId, month, invoiceId, closedAt, invoice: JSON.stringify(invoice) };
};

interface InvoicedMonth {
  readonly month: Month;
  readonly invoice_id: string;
}

const LIST = `
  select month, invoice_id from read_models.billing_invoices
  where organization_id = $1 and ($2::text is null or month < $2)
  order by month desc
  limit $3`;

/** Months of an organization that have an invoice, the newest first. The cursor's time is the start of the month. */
export const listInvoicedMonths = async (
  db: Database,
  by: { readonly organizationId: string; readonly limit: number; readonly after: ListCursor | null },
): Promise<ListPage<Month>> => {
  const before = by.after?.createdAt.slice(0, 'YYYY-MM'.length) ?? null;
  const values = [by.organizationId, before, rowsToAsk(by.limit)];
  const { rows } = await db.query<InvoicedMonth>({ name: 'list-invoiced-months', text: LIST, values });
  const page = pageOf(rows, by.limit, ({ month, invoice_id: id }) => ({ createdAt: `${month}-01T00:00:00.000Z`, id }));
  return { ...page, items: page.items.map(({ month }) => month) };
};

const LAST = 'select organization_id, max(month) as month from read_models.billing_invoices group by organization_id';

/** The last month with an invoice, by organization. */
export const lastInvoices = async (db: Database): Promise<ReadonlyMap<string, Month>> => {
  const { rows } = await db.query<{ organization_id: string; month: string }>({ name: 'last-invoices', text: LAST });
  return new Map(rows.map(({ organization_id, month }) => [organization_id, month]));
};

interface AcceptedMessage {
  readonly messageId: string;
  readonly day: string;
}

interface AddedRecipients {
  readonly organizationId: string;
  readonly day: string;
  recipients: number;
  /** The events counted here come after it. */
  readonly after: Position;
}

/** Counts accepted live recipients. Suppressed and failed ones, and those of notices of this service, are free. */
export interface BillingChanges {
  /** Day in UTC that each message was accepted on, by message id. */
  readonly days: Map<string, string>;
  readonly accepted: AcceptedMessage[];
  readonly invoices: ReturnType<typeof invoiceRow>[];
  /** Recipients to add, by organization and day. */
  readonly recipients: Map<string, AddedRecipients>;
}

const SELECT_DAYS = `select message_id, to_char(day, 'YYYY-MM-DD') as day from billing_messages where message_id = any($1)`;

const insertMessages = rowsInto<AcceptedMessage>('billing_messages', { message_id: 'messageId', day: 'day' });

const ADD_RECIPIENTS = `
  insert into billing_days as b (organization_id, day, billable_recipients, after_position)
  select "organizationId", day, recipients, after
  from json_to_recordset($1) as d("organizationId" text, day date, recipients bigint, after text)
  on conflict (organization_id, day)
  do update set billable_recipients = b.billable_recipients + excluded.billable_recipients`;

const isLive = ({ metadata }: RecordedEvent): boolean => metadata.environment === 'live';

/** Only these events need the day of an earlier message. */
export const isFree = ({ type }: RecordedEvent): boolean =>
  type === 'RecipientFailed' || type === 'RecipientSuppressed';

const begin = async (db: Database, events: readonly RecordedEvent[]): Promise<BillingChanges> => {
  const ids = earlierMessages(events.filter((event) => isLive(event) && isFree(event)));
  const changes: BillingChanges = { days: new Map(), accepted: [], invoices: [], recipients: new Map() };
  if (ids.length === 0) return changes;
  const { rows } = await db.query<{ message_id: string; day: string }>(SELECT_DAYS, [ids]);
  return { ...changes, days: new Map(rows.map(({ message_id, day }) => [message_id, day])) };
};

export const dayKey = (organizationId: string, day: string): string => `${organizationId} ${day}`;

const add = (
  { recipients: all }: BillingChanges,
  { metadata: { organizationId }, position }: RecordedEvent,
  day: string,
  recipients: number,
): void => {
  const key = dayKey(organizationId, day);
  const entry = all.get(key) ?? { organizationId, day, recipients: 0, after: positionBefore(position) };
  entry.recipients += recipients;
  all.set(key, entry);
};

const accept = (
  changes: BillingChanges,
  event: RecordedEvent<Extract<MessageEvent, { readonly type: 'MessageAccepted' }>>,
): void => {
  const { data, metadata } = event;
  if (!isLive(event) || data.keyId === SERVICE_SENDER) return;
  const day = dayOf(metadata.occurredAt);
  changes.days.set(data.messageId, day);
  changes.accepted.push({ messageId: data.messageId, day });
  add(changes, event, day, data.recipients.length);
};

const free = (changes: BillingChanges, event: RecordedEvent<MessageEvent>): void => {
  if (!isLive(event)) return;
  const day = changes.days.get(event.data.messageId);
  if (day !== undefined) add(changes, event, day, -1); // notices have no day: they were not billed
};

export const billingProjection = defineProjection<MessageEvent | BillingPeriodEvent, BillingChanges>({
  name: 'billing',
  version: 2,
  categories: ['message', 'invoice'],
  tables: ['billing_days', 'billing_messages', 'billing_invoices'],
  handlers: {
    MessageAccepted: accept,
    RecipientFailed: free,
    RecipientSuppressed: free,
    MessageScheduled: 'ignored',
    MessageRescheduled: 'ignored',
    RecipientsHeld: 'ignored',
    AttemptStarted: 'ignored',
    AttemptOutcomeUnknown: 'ignored',
    RecipientDelivered: 'ignored',
    RecipientDeferred: 'ignored',
    RecipientBounced: 'ignored',
    RecipientExpired: 'ignored',
    RecipientCancelled: 'ignored',
    RecipientOpened: 'ignored',
    RecipientClicked: 'ignored',
    RecipientComplained: 'ignored',
    RecipientReportNoted: 'ignored',
    RecipientsResent: 'ignored',
    RecipientUnsubscribed: 'ignored',
    QuotaWarned: 'ignored',
    QuotaExceeded: 'ignored',
    InvoiceClosed: ({ invoices }, { data, metadata }) => void invoices.push(invoiceRow(data, metadata.occurredAt)),
  },
  begin,
  write: async (db, { accepted, invoices, recipients }) => {
    await insertMessages(db, accepted);
    await insertInvoices(db, invoices);
    if (recipients.size > 0) {
      const values = asRecords([...recipients.values()]);
      await db.query({ name: 'add-billing-recipients', text: ADD_RECIPIENTS, values });
    }
  },
});

interface DayOfUsage {
  readonly date: string;
  readonly billableRecipients: number;
  /** In the log: all events that are counted for this day come after it. */
  readonly after: Position;
}

interface Usage {
  readonly billableRecipients: number;
  /** UTC days with any messages, in order. */
  readonly byDay: readonly DayOfUsage[];
  /** Time of the last counted event (ISO 8601); null: none yet. */
  readonly countedUpTo: string | null;
  /** Position of that event in the log. */
  readonly position: Position;
}

const USAGE = `
  select to_char(u.day, 'YYYY-MM-DD') as date, u.billable_recipients::float8 as billable, u.after_position,
    c.occurred_at, c.position
  from read_models.checkpoints c
  left join read_models.billing_days u
    on u.organization_id = $1 and u.day >= $2::date and u.day < $3::date
  where c.name = 'billing'
  order by u.day`;

interface Row {
  readonly date: string | null;
  readonly billable: number | null;
  readonly after_position: Position | null;
  readonly occurred_at: Date | null;
  readonly position: Position;
}

/** Live recipients accepted in [start, end), which are dates `2026-11-01`; suppressed and failed ones are free. */
export const billingUsage = async (
  db: Database,
  by: { readonly organizationId: string; readonly start: string; readonly end: string },
): Promise<Usage> => {
  const values = [by.organizationId, by.start, by.end];
  const { rows } = await db.query<Row>({ name: 'billing-usage', text: USAGE, values });
  const byDay = rows.flatMap(({ date, billable, after_position: after }) =>
    date === null ? [] : [{ date, billableRecipients: billable ?? 0, after: after ?? LOG_START }],
  );
  return {
    billableRecipients: byDay.reduce((sum, { billableRecipients }) => sum + billableRecipients, 0),
    byDay,
    countedUpTo: rows[0]?.occurred_at?.toISOString() ?? null,
    position: rows[0]?.position ?? LOG_START,
  };
};

/** The numbers of an invoice by day. */
export const countDays = async (
  db: Database,
  by: Parameters<typeof billingUsage>[1],
): Promise<{ readonly days: CountedDays; readonly countedTo: Invoice['countedTo'] }> => {
  const { byDay, position, countedUpTo: at } = await billingUsage(db, by);
  const days = new Map(
    byDay.map(({ date, billableRecipients: recipients, after }) => [date, { recipients, after }] as const),
  );
  return { days, countedTo: { position, at } };
};

/** Days in UTC, [from, to); null: without that bound. */
export interface BilledDays {
  readonly from: string | null;
  readonly to: string | null;
}

const BILLED_ON = `
  select message_id from read_models.billing_messages
  where message_id = any($1) and ($2::date is null or day >= $2) and ($3::date is null or day < $3)`;

/** The subset of these messages of an organization that is billed for the given days. */
export const billedOn = async (
  db: Database,
  by: BilledDays & { readonly organizationId: string; readonly messageIds: readonly string[] },
): Promise<ReadonlySet<string>> => {
  const values = [by.messageIds, by.from, by.to];
  const { rows } = await db.query<{ message_id: string }>({ name: 'billed-on', text: BILLED_ON, values });
  return new Set(rows.map(({ message_id }) => message_id));
};

const RECIPIENTS = `
  select organization_id, sum(billable_recipients)::float8 as recipients from read_models.billing_days
  where organization_id = any($1) and day >= $2::date and day < $3::date
  group by organization_id`;

/** The same by organization, of those that have any. */
export const billableRecipients = async (
  db: Database,
  by: { readonly organizationIds: readonly string[]; readonly start: string; readonly end: string },
): Promise<ReadonlyMap<string, number>> => {
  const values = [by.organizationIds, by.start, by.end];
  const { rows } = await db.query<{ organization_id: string; recipients: number }>({
    name: 'billable-recipients',
    text: RECIPIENTS,
    values,
  });
  return new Map(rows.map(({ organization_id, recipients }) => [organization_id, recipients]));
};
