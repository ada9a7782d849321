import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { BUILT_IN_PLANS, type Plan, type Plans, planSchema } from '../domain/billing/plan.ts';
import { StartRefused } from '../domain/start-refused.ts';

const PLANS_MAX = 100;

const { overagePer1000, hardLimit, ...fields } = planSchema.shape;

const filePlan = z
  .strictObject({
    ...fields,
    overage_per_1000: overagePer1000,
    hard_limit: hardLimit.default(null),
    /** Whether organizations can choose it themselves. */
    offered: z.boolean().default(true),
  })
  .transform(({ overage_per_1000: rate, hard_limit: limit, offered, ...plan }) => {
    const terms: Plan = { ...plan, overagePer1000: rate, hardLimit: limit };
    return { terms, offered };
  });

const plansFile = z
  .strictObject({
    /** Id of one of the plans. Absent: the built-in one. */
    default: z.string().optional(),
    plans: z.array(filePlan).min(1).max(PLANS_MAX),
  })
  .superRefine((file, context) => {
    const ids = file.plans.map(({ terms: { id } }) => id);
    for (const [index, id] of ids.entries()) {
      const path = ['plans', index, 'id'];
      if (ids.indexOf(id) < index)
        context.addIssue({ code: 'custom', path, message: `is the id of another plan: ${id}` });
    }
    if (file.default !== undefined && !ids.includes(file.default)) {
      context.addIssue({ code: 'custom', path: ['default'], message: `is the id of no plan: ${file.default}` });
    }
  })
  .transform(
    ({ default: id, plans }): Plans => ({
      default: plans.find(({ terms }) => terms.id === id)?.terms ?? BUILT_IN_PLANS.default,
      offered: plans.filter(({ offered }) => offered).map(({ terms }) => terms),
    }),
  );

/** `plans[0].price` of its parts. */
const nameOf = (path: readonly PropertyKey[]): string =>
  path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`))
    .join('');

const parsed = async (path: string): Promise<unknown> => {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new StartRefused(`PLANS_FILE: ${path} cannot be read: ${(error as Error).message}: set a file in JSON`);
  }
};

/** Reads the plans that organizations can have. @throws {StartRefused} with all problems of the file, one per line. */
export const readPlans = async (path: string | undefined): Promise<Plans> => {
  if (path === undefined) return BUILT_IN_PLANS;
  const { data, error } = plansFile.safeParse(await parsed(path));
  if (error === undefined) return data;
  const problems = error.issues.map((issue) => `PLANS_FILE: ${nameOf(issue.path) || path}: ${issue.message}`);
  throw new StartRefused(problems.join('\n'));
};
