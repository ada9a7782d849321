import { z } from 'zod';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { readYourWrites } from '../../read-your-writes.ts';
import { usageShape } from '../../schemas/billing.ts';
import { billingPeriod, datesOf, periodAround } from './billing-period.ts';

const query = z.strictObject({
  period: z
    .string()
    .refine((text) => billingPeriod(text) !== null, 'must be a month from 1970-01 to 9999-11')
    .transform(billingPeriod)
    .optional()
    .describe('A month in UTC, 2026-11; by default the current one'),
});

export const getUsageRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/billing/usage',
    { summary: 'Billable recipients of a month, by day', query, answer: usageShape },
    async ({ caller: { organizationId }, query: asked }) => {
      const period = asked.period ?? periodAround(deps.context.system.now());
      await readYourWrites(deps, ['billing']);
      const usage = await deps.readModels.billing.usage({ organizationId, ...datesOf(period) });
      return {
        object: 'usage',
        period,
        billable_recipients: usage.billableRecipients,
        by_day: usage.byDay.map(({ date, billableRecipients }) => ({ date, billable_recipients: billableRecipients })),
        counted_up_to: usage.countedUpTo,
      };
    },
  );
};
