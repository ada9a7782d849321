import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { readYourWrites } from '../../read-your-writes.ts';
import { billingShape } from '../../schemas/billing.ts';
import { datesOf, periodAround } from './billing-period.ts';

/** The plan an organization has unless its operator says otherwise: everything, for nothing. */
const UNLIMITED = {
  ...{ id: 'unlimited', name: 'Unlimited', currency: 'EUR', price: 0, included: null },
  overage_per_1000: '0',
};

export const getBillingRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/billing',
    { summary: 'The plan, the period and what was used of it', answer: billingShape },
    async ({ caller: { organizationId } }) => {
      const period = periodAround(deps.context.system.now());
      await readYourWrites(deps, ['billing']);
      const usage = await deps.readModels.billing.usage({ organizationId, ...datesOf(period) });
      return {
        object: 'billing',
        plan: UNLIMITED,
        period,
        usage: { billable_recipients: usage.billableRecipients, counted_up_to: usage.countedUpTo },
        quota: null,
      };
    },
  );
};
