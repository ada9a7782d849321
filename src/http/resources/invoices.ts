import { z } from 'zod';
import { type ClosedInvoice, loadInvoice, loadInvoicesOf } from '../../commands/billing.ts';
import { loadOrganization } from '../../commands/organization.ts';
import { type InvoiceLine, requirePeriod } from '../../domain/billing/plan.ts';
import { LOG_START, type Position } from '../../domain/kernel/event-store.ts';
import { acceptedIn } from '../../lib/http/http.ts';
import { afterAllOf } from '../../projections/events/queries.ts';
import { endpoint } from '../endpoint.ts';
import { timeSchema } from '../fields.ts';
import { listEndpoint, setRevision } from '../reading.ts';
import { billedPlanSchema, periodSchema, serializePeriod, serializePlan } from './billing.ts';
import { encodeFeedCursor, START } from './events/event-pages.ts';
import { calculationOf, factsOf, startOf, titleOf } from './explain-invoice.ts';
import { invoicePdf } from './invoice-pdf.ts';
import { serializeCustomer } from './organization.ts';

/** Invoices, whose lines contain everything that their amounts are calculated from. */

const amount = z
  .number()
  .int()
  .describe('Amount in the smallest unit of the currency, such as cents. A negative amount is a credit.');

const lineSchema = z.strictObject({
  kind: z
    .enum(['plan', 'recipients', 'late_recipients'])
    .describe(
      '`plan`: price of the plan for its days. `recipients`: recipients beyond the included ones. `late_recipients`: ' +
        'correction of an earlier invoice whose count has changed.',
    ),
  from: z.iso.date(),
  to: z.iso.date().describe('Day after the last day, in UTC.'),
  plan: billedPlanSchema,
  quantity: z.number().int().describe('Number of `unit`. `late_recipients` can be negative.'),
  unit: z.enum(['days', 'recipients']),
  amount,
  days: z.int().describe('Days of the plan in the month.'),
  days_of_month: z.int(),
  price: z.int().nullable().describe('Price of the plan per month. null: the line charges recipients.'),
  counted: z
    .int()
    .nullable()
    .describe(
      'Recipients of these days. Of `late_recipients`: their current count, null on invoices of earlier versions. null: the line charges days.',
    ),
  included: z
    .int()
    .nullable()
    .describe(
      'Recipients included in the price for these days, rounded up. null: unlimited, or the line charges days.',
    ),
  chargeable: z.int().nullable().describe('Recipients beyond the included ones.'),
  rate_per_1000: z.string().nullable().describe('Price per 1,000 chargeable recipients, as a decimal string.'),
  already_charged: z
    .int()
    .nullable()
    .describe('Amount that earlier invoices charged for these days; only of `late_recipients`.'),
  calculation: z.string().describe('How `amount` is calculated, in words. The result is rounded once.'),
  events: z
    .string()
    .nullable()
    .describe(
      'URL of the counted events; read it with a live key. `quantity` is the number of `message.accepted`, less those ' +
        'of `message.suppressed` and `message.failed`. null: the line counts no events.',
    ),
});

const party = z.strictObject({ name: z.string(), address: z.string(), tax_id: z.string().nullable() });

const invoiceSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('invoice'),
    title: z
      .enum(['Invoice', 'Usage statement'])
      .describe('`Usage statement`: the issuer or the customer was not set when the period was closed.'),
    number: z
      .string()
      .nullable()
      .describe('Consecutive within the organization. null: closed by a version that did not number invoices.'),
    issuer: party.nullable().describe('Set by the operator.'),
    customer: party.nullable().describe('`billing_details` of the organization when the period was closed.'),
    period: periodSchema,
    currency: z.string(),
    total: amount.describe('Sum of the lines, in the smallest unit of the currency, without tax. Below 0: a credit.'),
    tax: z
      .strictObject({ name: z.string(), rate: z.string().describe('Percent, as a decimal string.'), amount })
      .nullable()
      .describe('Tax on `total`. null: none is added.'),
    total_with_tax: amount,
    lines: z.array(lineSchema),
    counted_to: z
      .strictObject({ cursor: z.string(), time: timeSchema().nullable() })
      .describe('Cursor of the last counted event in the event feed. Later events are on the next invoice.'),
    closed_at: timeSchema(),
  })
  .meta({ id: 'Invoice' });

export type SerializedInvoice = z.infer<typeof invoiceSchema>;

const cursorAt = (position: Position): string => encodeFeedCursor(afterAllOf(position));

const COUNTED_TYPES = 'message.accepted,message.suppressed,message.failed';

const eventsOf = (
  { kind, from, to, after }: Pick<InvoiceLine, 'kind' | 'from' | 'to' | 'after'>,
  countedTo: string,
): string | null => {
  if (kind === 'plan') return null;
  const begin = after === LOG_START ? START : cursorAt(after);
  return `/v1/events?types=${COUNTED_TYPES}&billed_from=${from}&billed_to=${to}&after=${begin}&until=${countedTo}`;
};

const serializeInvoice = ({ invoice, closedAt }: ClosedInvoice): SerializedInvoice => {
  const { invoiceId, month, lines, currency, total, countedTo, number = null, issuer, customer, tax } = invoice;
  return {
    id: invoiceId,
    object: 'invoice',
    title: titleOf(invoice),
    number,
    issuer: serializeCustomer(issuer ?? null),
    customer: serializeCustomer(customer ?? null),
    period: serializePeriod({ ...requirePeriod(month), start: startOf(invoice) }),
    currency,
    total,
    tax: tax ?? null,
    total_with_tax: total + (tax?.amount ?? 0),
    lines: lines.map((line) => ({
      kind: line.kind,
      from: line.from,
      to: line.to,
      plan: serializePlan(line.plan),
      quantity: line.quantity,
      amount: line.amount,
      ...factsOf(line),
      calculation: calculationOf(line),
      events: eventsOf(line, cursorAt(countedTo.position)),
    })),
    counted_to: { cursor: cursorAt(countedTo.position), time: countedTo.at },
    closed_at: closedAt,
  };
};

export const listInvoicesRoute = listEndpoint(
  'GET /v1/billing/invoices',
  { summary: 'List invoices', of: 'billing', list: 'invoices', item: invoiceSchema, isStrict: true },
  async (by, { organizationId }, { deps }) => {
    const page = await deps.readModels.billing.invoicedMonths({ organizationId, ...by });
    const invoices = await loadInvoicesOf(deps.context, organizationId, page.items);
    return { ...page, items: invoices.map(serializeInvoice) };
  },
);

const PDF = 'application/pdf';

export const getInvoiceRoute = endpoint(
  'GET /v1/billing/invoices/:id',
  {
    summary: 'Get an invoice',
    description: `With \`Accept: ${PDF}\` it comes as a document for people.`,
    answer: invoiceSchema,
    otherMediaTypes: [PDF],
    large: true,
  },
  async ({ caller: { organizationId }, id, request, reply }, { deps }) => {
    const { revision, ...closed } = await loadInvoice(deps.context, organizationId, id);
    setRevision(reply, revision);
    reply.header('vary', 'accept');
    if (!acceptedIn(request.headers.accept).includes(PDF)) return serializeInvoice(closed);
    const { organization } = await loadOrganization(deps.context, organizationId);
    reply.type(PDF).header('content-disposition', `inline; filename="${closed.invoice.invoiceId}.pdf"`);
    return invoicePdf(closed, { organizationId, name: organization.settings.name });
  },
);
