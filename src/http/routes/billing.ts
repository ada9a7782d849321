import { z } from 'zod';
import { readYourWrites } from '../consistency.ts';
import { defineEndpoint, type RouteContext } from '../endpoint.ts';
import { timeSchema } from '../schemas/envelope.ts';
import { timeOf } from '../validation/fields.ts';

/** A calendar month in UTC. */
export interface BillingPeriod {
  /** ISO 8601. */
  readonly start: string;
  readonly end: string;
}

const MONTH = /^(\d{4})-(0[1-9]|1[0-2])$/;

/** @param month 1 to 12. @returns null: outside the years that times can have. */
const periodOf = (year: number, month: number): BillingPeriod | null => {
  // `Date.UTC` takes the years 0 to 99 for those of the twentieth century.
  const start = year < 100 ? null : timeOf(Date.UTC(year, month - 1));
  const end = timeOf(Date.UTC(year, month));
  return start === null || end === null ? null : { start, end };
};

/** @param text `2026-11`. @returns null: not a month from 1970-01 to 9999-11. */
export const billingPeriod = (text: string): BillingPeriod | null => {
  const [, year, month] = MONTH.exec(text) ?? [];
  return year === undefined ? null : periodOf(Number(year), Number(month));
};

/** The month of a time. @throws {RangeError} outside those years. */
export const periodAround = (time: Date): BillingPeriod => {
  const period = periodOf(time.getUTCFullYear(), time.getUTCMonth() + 1);
  if (period === null) throw new RangeError('the clock is wrong');
  return period;
};

/** Start and end as dates. */
export const datesOf = ({ start, end }: BillingPeriod): { readonly start: string; readonly end: string } => ({
  start: start.slice(0, 'YYYY-MM-DD'.length),
  end: end.slice(0, 'YYYY-MM-DD'.length),
});

const billable = z
  .number()
  .int()
  .describe(
    'Recipients of accepted live messages, including duplicates, cancelled and bounced ones. Free: ' +
      'recipients of test keys, suppressed ones, and `failed` ones, which are our fault.',
  );

const period = z.strictObject({ start: timeSchema(), end: timeSchema() });

export const usageSchema = z
  .strictObject({
    object: z.literal('usage'),
    period,
    billable_recipients: billable,
    by_day: z.array(z.strictObject({ date: z.iso.date(), billable_recipients: billable })),
    counted_up_to: timeSchema().nullable(),
  })
  .meta({ id: 'Usage' });

export const billingSchema = z
  .strictObject({
    object: z.literal('billing'),
    plan: z.strictObject({
      id: z.string(),
      name: z.string(),
      currency: z.string(),
      price: z.number().int(),
      included: z.number().int().nullable(),
      overage_per_1000: z.string(),
    }),
    period,
    usage: z.strictObject({ billable_recipients: billable, counted_up_to: timeSchema().nullable() }),
    quota: z.strictObject({ limit: z.number().int(), remaining: z.number().int() }).nullable(),
  })
  .meta({ id: 'Billing' });

/** The default plan: unlimited and free. */
const UNLIMITED = {
  id: 'unlimited',
  name: 'Unlimited',
  currency: 'EUR',
  price: 0,
  included: null,
  overage_per_1000: '0',
};

export const getBillingRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/billing',
    { summary: 'Read the plan, the period and its usage', answer: billingSchema },
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

const query = z.strictObject({
  period: z
    .string()
    .refine((text) => billingPeriod(text) !== null, 'must be a month from 1970-01 to 9999-11')
    .transform(billingPeriod)
    .optional()
    .describe('A month in UTC, such as 2026-11. Default: the current month.'),
});

export const getUsageRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/billing/usage',
    { summary: 'Count the billable recipients of a month by day', query, answer: usageSchema },
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
