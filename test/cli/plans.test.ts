import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Invocation, OperatorCommand } from '../../src/cli/command.ts';
import { choosePlanCommand, listChosenPlansCommand, listPlansCommand } from '../../src/cli/plans.ts';
import { changePlan } from '../../src/commands/organization.ts';
import type { Plan, Plans } from '../../src/domain/billing/plan.ts';
import { operator as operatorOf, type Service, startService } from '../http/support/service.ts';

const plan = (more: Partial<Plan>): Plan => ({
  ...{ id: 'starter', name: 'Starter', currency: 'EUR', price: 1900, included: 10_000, overagePer1000: '45.5' },
  ...{ hardLimit: null, ...more },
});
const FREE = plan({ id: 'free', price: 0, included: 100, overagePer1000: '0' });
const PLANS: Plans = {
  ...{ default: FREE, offered: [FREE, plan({})] },
  others: [plan({ id: 'partner', price: 100 }), plan({ id: 'dollars', currency: 'USD', price: 9_900 })],
};

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const run = async (command: OperatorCommand, values: Record<string, string> = {}) => {
  const { context } = service.deps;
  const now = () => new Date('2026-11-15T12:00:00.000Z');
  const operator = { context: { ...context, plans: PLANS, system: { ...context.system, now } } };
  const invocation = { values, positionals: [] } as unknown as Invocation;
  return command.run(operator as Parameters<OperatorCommand['run']>[0], invocation, {} as never, {} as never);
};

test('the operator sees all plans, and which organizations may choose', async () => {
  expect(await run(listPlansCommand)).toMatchObject([
    { id: 'free', offered: true, default: true },
    { id: 'starter', offered: true, default: false, overage_per_1000: '45.5', hard_limit: null },
    { id: 'partner', offered: false, default: false },
    { id: 'dollars', offered: false, default: false, currency: 'USD' },
  ]);
  const text = listPlansCommand.textOf?.(await run(listPlansCommand));
  expect(text).toMatch(/^hard_limit: unlimited$/m);
  expect(text).not.toMatch(/^(included|hard_limit): -$/m);
});

test('the operator gives an organization a plan that it cannot choose, by the same rules of time', async () => {
  const organizationId = await service.makeOrganization();
  const choose = (planId: string) => run(choosePlanCommand, { organization: organizationId, plan: planId });
  const { context } = service.deps;
  const own = changePlan(context, operatorOf(organizationId), { planId: 'partner', plans: PLANS });
  await expect(own).rejects.toMatchObject({ code: 'plan_not_offered' });
  expect(await choose('starter')).toMatchObject({ plan: 'starter', applies_from: '2026-11-15' });
  expect(await choose('partner')).toMatchObject({ plan: 'partner', applies_from: '2026-11-16' });
  expect(await choose('dollars')).toMatchObject({ plan: 'dollars', applies_from: '2026-12-01' });
  const chosen = await run(listChosenPlansCommand);
  expect(chosen).toContainEqual({
    ...{ organization_id: organizationId, name: expect.any(String), plan: 'starter' },
    ...{ next_plan: 'dollars', next_plan_applies_from: '2026-12-01' },
  });
  await expect(choose('gold')).rejects.toThrow("there is no plan 'gold': `outbox plans list` lists the plans");
});
