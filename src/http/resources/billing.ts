import { z } from 'zod';
import { changePlan, loadOrganization } from '../../commands/organization.ts';
import {
  BUILT_IN_PLANS,
  monthOf,
  nextPlanOf,
  type Period,
  type Plan,
  type Plans,
  periodOf,
  periodSince,
  planOf,
  planSchema,
  quotaOf,
  requirePeriod,
} from '../../domain/billing/plan.ts';
import { dayOf } from '../../domain/kernel/event.ts';
import type { ActiveOrganization } from '../../domain/organization/organization.ts';
import { endpoint, type RouteContext } from '../endpoint.ts';
import { listOf, listSchema, timeSchema } from '../fields.ts';
import { ifMatch, readYourWrites, setRevision } from '../reading.ts';

/** Plans and usage. */

const billable = z
  .number()
  .int()
  .describe(
    'Recipients of accepted live messages, including cancelled and bounced ones. Not counted: recipients of ' +
      'test keys, suppressed recipients, and recipients that `failed`.',
  );

export const periodSchema = z.strictObject({ start: timeSchema(), end: timeSchema() });

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

export const billedPlanSchema = z
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

export type SerializedPlan = z.infer<typeof billedPlanSchema>;
export type SerializedUsage = z.infer<typeof usageSchema>;
export type SerializedBilling = z.infer<typeof billingSchema>;

/** From start to end as times. */
export const serializePeriod = ({ start, end }: Period) => ({
  start: `${start}T00:00:00.000Z`,
  end: `${end}T00:00:00.000Z`,
});

export const serializePlan = ({ overagePer1000: rate, hardLimit: limit, ...plan }: Plan) => ({
  ...plan,
  overage_per_1000: rate,
  hard_limit: limit,
});

type Deps = RouteContext['deps'];

const plansOf = ({ context }: Deps): Plans => context.plans ?? BUILT_IN_PLANS;

const billingOf = async (
  deps: Deps,
  { organizationId, chosenPlans, createdAt }: Pick<ActiveOrganization, 'organizationId' | 'chosenPlans' | 'createdAt'>,
): Promise<SerializedBilling> => {
  const now = deps.context.system.now().toISOString();
  const period = periodSince(requirePeriod(monthOf(now)), createdAt);
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

const chosenPlanSchema = billedPlanSchema
  .extend({
    applies_from: z.iso.date().describe('First day (UTC) of the plan: today, or tomorrow if the plan lowers anything.'),
  })
  .meta({ id: 'ChosenPlan' });

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
    answer: chosenPlanSchema,
  },
  async ({ origin, body, request, reply }, { deps }) => {
    const plans = plansOf(deps);
    const command = { planId: body.plan, plans, ...ifMatch(request) };
    const { organization, revision } = await changePlan(deps.context, origin, command);
    setRevision(reply, revision);
    const now = deps.context.system.now().toISOString();
    const { plan, from } = organization.chosenPlans.at(-1) ?? { plan: plans.default, from: dayOf(now) };
    return { ...serializePlan(plan), applies_from: from };
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
    const month = asked.period ?? monthOf(deps.context.system.now().toISOString());
    const { organization } = await loadOrganization(deps.context, organizationId);
    const period = periodSince(requirePeriod(month), organization.createdAt);
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
