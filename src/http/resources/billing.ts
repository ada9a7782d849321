import { z } from 'zod';
import { loadInvoice } from '../../commands/billing.ts';
import { changePlan, loadOrganization } from '../../commands/organization.ts';
import {
  BUILT_IN_PLANS,
  type ChosenPlan,
  type InvoiceLine,
  monthOf,
  nextPlanOf,
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
import { invoicePdf } from './invoice-pdf.ts';

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
    next_plan: z
      .strictObject({ plan: billedPlanSchema, applies_from: z.iso.date().describe('Day in UTC.') })
      .nullable()
      .describe('Plan that was chosen and does not apply yet. null: none.'),
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
  const now = deps.context.system.now().toISOString();
  const period = requirePeriod(monthOf(now));
  const plan = planOf({ chosenPlans }, plansOf(deps), now);
  const next = nextPlanOf({ chosenPlans }, now);
  await readYourWrites(deps, ['billing']);
  const usage = await deps.readModels.billing.usage({ organizationId, ...period });
  const quota = quotaOf(plan);
  return {
    object: 'billing',
    plan: serializePlan(plan),
    next_plan: next && { plan: serializePlan(next.plan), applies_from: next.from },
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
      'Changes the plan. A plan that lowers neither the price, the rate, the included recipients nor the limit applies at once, and its price applies to the whole day (UTC). Any other plan applies from the next day (UTC): until then, `GET /v1/billing` returns it as `next_plan`. Each plan is charged for its days.',
    body: choice,
    examples: { 'Choose the built-in plan': { plan: 'unlimited' } },
    answer: billedPlanSchema,
  },
  async ({ origin, body, request, reply }, { deps }) => {
    const plans = plansOf(deps);
    const command = { planId: body.plan, plans, ...ifMatch(request) };
    const { organization, revision } = await changePlan(deps.context, origin, command);
    setRevision(reply, revision);
    const { plan } = organization.chosenPlans.at(-1) ?? { plan: plans.default };
    return serializePlan(plan);
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
