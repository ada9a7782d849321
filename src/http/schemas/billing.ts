import { z } from 'zod';
import { timeShape } from './time.ts';

const billable = z
  .number()
  .int()
  .describe(
    'Recipients of accepted live messages, an address given twice counted twice, cancelled and bounced ones too. Free are those of test keys, suppressed ones, and those that are `failed`, which is our fault.',
  );

const period = z.strictObject({ start: timeShape(), end: timeShape() });

export const usageShape = z.strictObject({
  object: z.literal('usage'),
  period,
  billable_recipients: billable,
  by_day: z.array(z.strictObject({ date: z.iso.date(), billable_recipients: billable })),
  counted_up_to: timeShape().nullable(),
});

export const billingShape = z.strictObject({
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
  usage: z.strictObject({ billable_recipients: billable, counted_up_to: timeShape().nullable() }),
  quota: z.strictObject({ limit: z.number().int(), remaining: z.number().int() }).nullable(),
});
