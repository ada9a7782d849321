import type { Readable } from 'node:stream';
import { z } from 'zod';
import { loadInvoice } from '../../commands/billing.ts';
import { changePlan, loadOrganization } from '../../commands/organization.ts';
import {
  BUILT_IN_PLANS,
  type ChosenPlan,
  type InvoiceLine,
  monthOf,
  type Period,
  type Plan,
  type Plans,
  periodOf,
  planOf,
  planSchema,
  quotaOf,
  requirePeriod,
} from '../../domain/billing/plan.ts';
import { LOG_START, type Position } from '../../domain/kernel/event-store.ts';
import { acceptedIn } from '../../lib/http/http.ts';
import type { ClosedInvoice } from '../../projections/billing.ts';
import { afterAllOf } from '../../projections/events/queries.ts';
import { endpoint, type RouteContext } from '../endpoint.ts';
import { listOf, listSchema, timeSchema } from '../fields.ts';
import { ifMatch, listEndpoint, readYourWrites, setRevision } from '../reading.ts';
import { encodeFeedCursor, START } from './events/event-pages.ts';

/** Plans, usage and invoices. */

const billable = z
  .number()
  .int()
  .describe(
    'Recipients of accepted live messages, including cancelled and bounced ones. Not counted: recipients of ' +
      'test keys, suppressed recipients, and recipients that `failed`.',
  );

const periodSchema = z.strictObject({ start: timeSchema(), end: timeSchema() });

const usageSchema = z
  .strictObject({
    object: z.literal('usage'),
    period: periodSchema,
    billable_recipients: billable,
    by_day: z.array(z.strictObject({ date: z.iso.date(), billable_recipients: billable })),
    counted_up_to: timeSchema().nullable(),
  })
  .meta({ id: 'Usage' });

const { overagePer1000, hardLimit, ...terms } = planSchema.shape;

const billedPlanSchema = z
  .strictObject({ ...terms, overage_per_1000: overagePer1000, hard_limit: hardLimit })
  .meta({ id: 'Plan' });

const billingSchema = z
  .strictObject({
    object: z.literal('billing'),
    plan: billedPlanSchema,
    period: periodSchema,
    usage: z.strictObject({ billable_recipients: billable, counted_up_to: timeSchema().nullable() }),
    quota: z
      .strictObject({ limit: z.number().int(), remaining: z.number().int(), hard: z.boolean() })
      .nullable()
      .describe('Recipients allowed in the period. `hard`: further messages are rejected. null: no quota.'),
  })
  .meta({ id: 'Billing' });

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
  quantity: z.number().int().describe('Days of the plan, or recipients. `late_recipients` can be negative.'),
  amount,
  events: z
    .string()
    .nullable()
    .describe(
      'URL of the counted events; read it with a live key. `quantity` is the number of `message.accepted`, less those ' +
        'of `message.suppressed` and `message.failed`. null: the line counts no events.',
    ),
});

const invoiceSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('invoice'),
    period: periodSchema,
    currency: z.string(),
    total: amount,
    lines: z.array(lineSchema),
    counted_to: z
      .strictObject({ cursor: z.string(), time: timeSchema().nullable() })
      .describe('Cursor of the last counted event in the event feed. Later events are on the next invoice.'),
    closed_at: timeSchema(),
  })
  .meta({ id: 'Invoice' });

export type SerializedPlan = z.infer<typeof billedPlanSchema>;
export type SerializedUsage = z.infer<typeof usageSchema>;
export type SerializedBilling = z.infer<typeof billingSchema>;
export type SerializedInvoice = z.infer<typeof invoiceSchema>;

/** From start to end as times. */
const serializePeriod = ({ start, end }: Period) => ({
  start: `${start}T00:00:00.000Z`,
  end: `${end}T00:00:00.000Z`,
});

const serializePlan = ({ overagePer1000: rate, hardLimit: limit, ...plan }: Plan) => ({
  ...plan,
  overage_per_1000: rate,
  hard_limit: limit,
});

type Deps = RouteContext['deps'];

const plansOf = ({ context }: Deps): Plans => context.plans ?? BUILT_IN_PLANS;

const billingOf = async (
  deps: Deps,
  { organizationId, chosenPlans }: { readonly organizationId: string; readonly chosenPlans: readonly ChosenPlan[] },
): Promise<SerializedBilling> => {
  const period = requirePeriod(monthOf(deps.context.system.now().toISOString()));
  const plan = planOf({ chosenPlans }, plansOf(deps));
  await readYourWrites(deps, ['billing']);
  const usage = await deps.readModels.billing.usage({ organizationId, ...period });
  const quota = quotaOf(plan);
  return {
    object: 'billing',
    plan: serializePlan(plan),
    period: serializePeriod(period),
    usage: { billable_recipients: usage.billableRecipients, counted_up_to: usage.countedUpTo },
    quota: quota && {
      limit: quota.limit,
      remaining: Math.max(0, quota.limit - usage.billableRecipients),
      hard: quota.isHard,
    },
  };
};

export const getBillingRoute = endpoint(
  'GET /v1/billing',
  { summary: 'Get the plan and its usage', answer: billingSchema },
  async ({ caller, reply }, { deps }) => {
    const { organization, revision } = await loadOrganization(deps.context, caller.organizationId);
    setRevision(reply, revision);
    return billingOf(deps, organization);
  },
);

export const listPlansRoute = endpoint(
  'GET /v1/billing/plans',
  { summary: 'List available plans', answer: listSchema(billedPlanSchema) },
  async (_call, { deps }) => listOf(plansOf(deps).offered.map(serializePlan), false, null),
);

const choice = z.strictObject({
  plan: z.string().max(64).describe('Id of a plan that `GET /v1/billing/plans` lists.'),
});

export const choosePlanRoute = endpoint(
  'PUT /v1/billing/plan',
  {
    summary: 'Choose a plan',
    description:
      'Changes the plan. Its quota applies immediately, and its price from the start of the current day (UTC). The previous plan is charged for its days.',
    body: choice,
    examples: { 'Choose the built-in plan': { plan: 'unlimited' } },
    answer: billedPlanSchema,
  },
  async ({ origin, body, request, reply }, { deps }) => {
    const plans = plansOf(deps);
    const command = { planId: body.plan, plans, ...ifMatch(request) };
    const { organization, revision } = await changePlan(deps.context, origin, command);
    setRevision(reply, revision);
    return serializePlan(planOf(organization, plans));
  },
);

const query = z.strictObject({
  period: z
    .string()
    .refine((text) => periodOf(text) !== null, 'must be a month from 1970-01 to 9999-11')
    .optional()
    .describe('A month (UTC), such as 2026-11. Default: the current month.'),
});

export const getUsageRoute = endpoint(
  'GET /v1/billing/usage',
  { summary: 'Get the usage of a month by day', query, answer: usageSchema },
  async ({ caller: { organizationId }, query: asked }, { deps }) => {
    const period = requirePeriod(asked.period ?? monthOf(deps.context.system.now().toISOString()));
    await readYourWrites(deps, ['billing']);
    const usage = await deps.readModels.billing.usage({ organizationId, ...period });
    return {
      object: 'usage',
      period: serializePeriod(period),
      billable_recipients: usage.billableRecipients,
      by_day: usage.byDay.flatMap(({ date, billableRecipients: recipients }) =>
        recipients === 0 ? [] : [{ date, billable_recipients: recipients }],
      ),
      counted_up_to: usage.countedUpTo,
    };
  },
);

/**
 * Renders an invoice as PDF: a table on as many A4 pages as needed. pdfkit is loaded for the first one. The same invoice
 * always has the same bytes. The font covers Western European letters (WinAnsi); others are shown as `?`, so ids are
 * printed with names.
 */

/** The organization that the invoice is for. */
interface InvoicedOrganization {
  readonly organizationId: string;
  readonly name: string;
}

const MARGIN = 50;
/** Right edge on A4, in points. */
const RIGHT = 595 - MARGIN;
const LAST_Y = 760;
const LINE_HEIGHT = 18;
/** Left edges; the last column ends at the right margin. */
const COLUMNS = [MARGIN, 150, 265, 360, 440] as const;
const HEADS = ['For', 'Days', 'Plan', 'Quantity', 'Amount'] as const;
const NUMBERS_FROM = 3;
const NAME_CHARACTERS_MAX = 60;

const KINDS = {
  plan: 'Price of the plan',
  recipients: 'Recipients',
  late_recipients: 'Late recipients',
} satisfies Record<InvoiceLine['kind'], string>;

const UNPRINTABLE = /[^\x20-\x7e\u00a1-\u00ff\u20ac\u2013\u2014\u2018-\u201e\u2022\u2026]/gu;

/** The text in characters that the font has. */
export const printable = (text: string, charactersMax = NAME_CHARACTERS_MAX): string =>
  text.normalize('NFC').replace(UNPRINTABLE, '?').slice(0, charactersMax);

/** Exact: the currency's minor unit is shifted as text. */
const money = (amount: number, currency: string): string => {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency, currencyDisplay: 'code' });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 0;
  const text = String(Math.abs(amount)).padStart(digits + 1, '0');
  const whole = BigInt(text.slice(0, text.length - digits)).toLocaleString('en');
  const fraction = digits === 0 ? '' : `.${text.slice(-digits)}`;
  return `${amount < 0 ? '-' : ''}${whole}${fraction} ${currency}`;
};

/** The day before the one after the last. */
const lastDay = (to: string): string => new Date(Date.parse(to) - 86_400_000).toISOString().slice(0, to.length);

const cellsOf = ({ kind, from, to, plan, quantity, amount }: InvoiceLine, currency: string): readonly string[] => [
  KINDS[kind],
  `${from} to ${lastDay(to).slice(-2)}`,
  printable(plan.name),
  quantity.toLocaleString('en'),
  money(amount, currency),
];

/** Streams it. */
export const invoicePdf = async (
  { invoice, closedAt }: ClosedInvoice,
  organization: InvoicedOrganization,
): Promise<Readable> => {
  const { default: PdfDocument } = await import('pdfkit');
  const { invoiceId, month, lines, currency, total, countedTo } = invoice;
  const { start, end } = requirePeriod(month);
  const info = { Title: `Invoice ${invoiceId}`, CreationDate: new Date(closedAt) };
  const doc = new PdfDocument({ size: 'A4', margin: MARGIN, info, lang: 'en', displayTitle: true });

  const row = (cells: readonly string[], y: number): void => {
    cells.forEach((text, column) => {
      const x = COLUMNS[column] ?? MARGIN;
      const width = (COLUMNS[column + 1] ?? RIGHT + 8) - x - 8;
      const align = column >= NUMBERS_FROM ? 'right' : 'left';
      doc.text(text, x, y, { width, align, height: LINE_HEIGHT, ellipsis: true, lineBreak: false });
    });
  };

  const table = (from: number): number => {
    let y = from;
    const head = (): void => {
      doc.font('Helvetica-Bold').fontSize(9);
      row(HEADS, y);
      doc
        .moveTo(MARGIN, y + 13)
        .lineTo(RIGHT, y + 13)
        .lineWidth(0.5)
        .stroke();
      doc.font('Helvetica');
      y += LINE_HEIGHT + 2;
    };
    head();
    for (const line of lines) {
      if (y > LAST_Y) {
        doc.addPage();
        y = MARGIN;
        head();
      }
      row(cellsOf(line, currency), y);
      y += LINE_HEIGHT;
    }
    return y;
  };

  doc.font('Helvetica-Bold').fontSize(20).text('Invoice', MARGIN, MARGIN);
  doc.font('Helvetica').fontSize(10).moveDown(0.5);
  doc.text(`Number: ${invoiceId}`);
  doc.text(`Organization: ${printable(organization.name)} (${organization.organizationId})`);
  doc.text(`Period: ${start} to ${lastDay(end)} (UTC)`);
  doc.text(`Closed: ${closedAt}`);
  doc.moveDown();
  const y = table(doc.y) + 8;
  doc.font('Helvetica-Bold').fontSize(11);
  doc.text(`Total: ${money(total, currency)}`, MARGIN, y, { width: RIGHT - MARGIN, align: 'right' });
  doc.font('Helvetica').fontSize(8).moveDown();
  doc.text(`Counted to position ${countedTo.position} of the log. Later facts are on the next invoice.`, MARGIN);
  doc.end();
  return doc;
};

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

const serializeInvoice = ({
  invoice: { invoiceId, month, lines, currency, total, countedTo },
  closedAt,
}: ClosedInvoice): SerializedInvoice => ({
  id: invoiceId,
  object: 'invoice',
  period: serializePeriod(requirePeriod(month)),
  currency,
  total,
  lines: lines.map((line) => ({
    kind: line.kind,
    from: line.from,
    to: line.to,
    plan: serializePlan(line.plan),
    quantity: line.quantity,
    amount: line.amount,
    events: eventsOf(line, cursorAt(countedTo.position)),
  })),
  counted_to: { cursor: cursorAt(countedTo.position), time: countedTo.at },
  closed_at: closedAt,
});

export const listInvoicesRoute = listEndpoint(
  'GET /v1/billing/invoices',
  { summary: 'List invoices', of: 'billing', list: 'invoices', item: invoiceSchema },
  async (by, { organizationId }, { deps }) => {
    const page = await deps.readModels.billing.invoices({ organizationId, ...by });
    return { ...page, items: page.items.map(serializeInvoice) };
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
