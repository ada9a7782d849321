import { changePlan } from '../commands/organization.ts';
import { readDirectory } from '../composition/first-start.ts';
import { BUILT_IN_PLANS, nextPlanOf, type Plan, planOf } from '../domain/billing/plan.ts';
import { type OperatorCommand, required } from './command.ts';
import { operatorOrigin } from './operator-origin.ts';
import { fieldLines } from './terminal.ts';

/** Commands about plans: those of `PLANS_FILE`, and which organization has which. */

const planRow = (
  { overagePer1000: rate, hardLimit: limit, ...terms }: Plan,
  isOffered: boolean,
  isDefault: boolean,
) => ({
  ...terms,
  overage_per_1000: rate,
  hard_limit: limit,
  offered: isOffered,
  default: isDefault,
});

const planLines = (row: Readonly<Record<string, unknown>>): string =>
  fieldLines({ ...row, included: row.included ?? 'unlimited', hard_limit: row.hard_limit ?? 'unlimited' });

export const listPlansCommand: OperatorCommand = {
  name: 'plans list',
  usage: '',
  summary: 'lists the plans of PLANS_FILE, also those that only the operator can choose',
  run: async ({ context: { plans = BUILT_IN_PLANS } }) => {
    const { offered, others = [], default: first } = plans;
    const all = [...offered, ...others];
    const known = all.some(({ id }) => id === first.id) ? all : [...all, first];
    return known.map((plan) => planRow(plan, offered.includes(plan), plan.id === first.id));
  },
  textOf: (result) => [result].flat().map(planLines).join('\n\n'),
};

export const listChosenPlansCommand: OperatorCommand = {
  name: 'plans chosen',
  usage: '',
  summary: 'lists the plan of each organization, and the plan that it chose for later',
  run: async ({ context: { system, plans = BUILT_IN_PLANS, ...context } }) => {
    const now = system.now().toISOString();
    const { organizations } = await readDirectory({ ...context, system });
    return [...organizations.values()].flatMap((each) => {
      if (each.status === 'absent') return [];
      const next = nextPlanOf(each, now);
      return [
        {
          organization_id: each.organizationId,
          name: each.settings.name,
          plan: planOf(each, plans, now).id,
          next_plan: next?.plan.id ?? null,
          next_plan_applies_from: next?.from ?? null,
        },
      ];
    });
  },
};

export const choosePlanCommand: OperatorCommand = {
  name: 'plans choose',
  usage: '--organization ORG_ID --plan PLAN_ID',
  summary: 'changes the plan of an organization, also to one in another currency or that is not offered',
  run: async ({ context }, invocation) => {
    const { plans = BUILT_IN_PLANS } = context;
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const planId = required(invocation, 'plan');
    const { organization } = await changePlan(context, origin, { planId, plans, byOperator: true });
    const { organizationId, chosenPlans } = organization;
    return { organization_id: organizationId, plan: planId, applies_from: chosenPlans.at(-1)?.from ?? null };
  },
};
