import { z } from 'zod';
import { changePlan, loadOrganization } from '../../commands/organization.ts';
import { monthOf, type Period, periodOf, requirePeriod } from '../../domain/billing/period.ts';
import { BUILT_IN_PLANS, type ChosenPlan, type Plan, type Plans, planOf, quotaOf } from '../../domain/billing/plan.ts';
import { ifMatch, readYourWrites, setRevision } from '../consistency.ts';
import { endpoint, type RouteContext } from '../endpoint.ts';
import { billedPlanSchema, billingSchema, type SerializedBilling, usageSchema } from '../schemas/billing.ts';
import { listOf, listSchema } from '../schemas/envelope.ts';

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
  { summary: 'Read the plan, the period and its usage', answer: billingSchema },
  async ({ caller, reply }, { deps }) => {
    const { organization, revision } = await loadOrganization(deps.context, caller.organizationId);
    setRevision(reply, revision);
    return billingOf(deps, organization);
  },
);

export const listPlansRoute = endpoint(
  'GET /v1/billing/plans',
  { summary: 'List the plans that the organization can choose', answer: listSchema(billedPlanSchema) },
  async (_call, { deps }) => listOf(plansOf(deps).offered.map(serializePlan), false, null),
);

const choice = z.strictObject({ plan: z.string().max(64).describe('Id of one of `GET /v1/billing/plans`.') });

export const choosePlanRoute = endpoint(
  'PUT /v1/billing/plan',
  {
    summary: 'Choose a plan',
    description:
      'The new plan applies to quotas immediately, and to the invoice from the start of the day (UTC). The previous plan is charged for its days.',
    body: choice,
    examples: { 'The built-in plan': { plan: 'unlimited' } },
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
    .describe('A month in UTC, such as 2026-11. Default: the current month.'),
});

export const getUsageRoute = endpoint(
  'GET /v1/billing/usage',
  { summary: 'Count the billable recipients of a month by day', query, answer: usageSchema },
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
