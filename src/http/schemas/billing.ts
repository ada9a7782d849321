import { z } from 'zod';
import { planSchema } from '../../domain/billing/plan.ts';
import { timeSchema } from './envelope.ts';

/** Plans, usage and invoices. */

const billable = z
  .number()
  .int()
  .describe(
    'Recipients of accepted live messages, including duplicates, cancelled and bounced ones. Recipients of ' +
      'test keys, suppressed recipients and `failed` ones, which are our fault, are free.',
  );

const periodSchema = z.strictObject({ start: timeSchema(), end: timeSchema() });

export const usageSchema = z
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

export const billingSchema = z
  .strictObject({
    object: z.literal('billing'),
    plan: billedPlanSchema,
    period: periodSchema,
    usage: z.strictObject({ billable_recipients: billable, counted_up_to: timeSchema().nullable() }),
    quota: z
      .strictObject({ limit: z.number().int(), remaining: z.number().int(), hard: z.boolean() })
      .nullable()
      .describe('Recipients of the period that the plan allows; `hard`: more are refused. null: any number.'),
  })
  .meta({ id: 'Billing' });

const amount = z.number().int().describe('In the currency’s minor unit; a negative amount is a credit.');

const lineSchema = z.strictObject({
  kind: z
    .enum(['plan', 'recipients', 'late_recipients'])
    .describe(
      '`plan`: its price for its days. `recipients`: those beyond the included ones. `late_recipients`: how the count of ' +
        'an earlier invoice has changed since.',
    ),
  from: z.iso.date(),
  to: z.iso.date().describe('The day after the last, in UTC.'),
  plan: billedPlanSchema,
  quantity: z
    .number()
    .int()
    .describe('Days of a plan, or billable recipients. Negative values are possible for `late_recipients`.'),
  amount,
  events: z
    .string()
    .nullable()
    .describe(
      'URL of the events it counts, for a live key: `quantity` is the number of `message.accepted`, less those of ' +
        '`message.suppressed` and `message.failed`. null: it counts none.',
    ),
});

export const invoiceSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('invoice'),
    period: periodSchema,
    currency: z.string(),
    total: amount,
    lines: z.array(lineSchema),
    counted_to: z
      .strictObject({ cursor: z.string(), time: timeSchema().nullable() })
      .describe('The last event that was counted, as a cursor of the event feed. Later ones are on the next invoice.'),
    closed_at: timeSchema(),
  })
  .meta({ id: 'Invoice' });

export type SerializedPlan = z.infer<typeof billedPlanSchema>;
export type SerializedUsage = z.infer<typeof usageSchema>;
export type SerializedBilling = z.infer<typeof billingSchema>;
export type SerializedInvoice = z.infer<typeof invoiceSchema>;
