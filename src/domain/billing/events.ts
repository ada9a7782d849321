import { z } from 'zod';
import { planSchema } from './plan.ts';

/** Of a plan that held from a day on; `to` is the day after the last. */
const part = z.object({ month: z.string(), from: z.iso.date(), to: z.iso.date(), plan: planSchema });

const line = part.extend({
  /** `late_recipients`: the change of a count that an earlier invoice stated. */
  kind: z.enum(['plan', 'recipients', 'late_recipients']),
  /** Days of a plan, or recipients; those of `late_recipients` may be fewer than none. */
  quantity: z.number().int(),
  /** Position in the log: the events that it counts come after it, and are of messages accepted on its days. */
  after: z.string(),
  /** In the currency's minor unit. */
  amount: z.number().int(),
});
export type InvoiceLine = Readonly<z.infer<typeof line>>;

const quota = z.object({
  organizationId: z.string(),
  invoiceId: z.string(),
  month: z.string(),
  planId: z.string(),
  limit: z.number().int(),
  used: z.number().int(),
});

/** Of an organization and a month: its invoice, and what was told of its quota before. */
export const billingPeriodEvents = {
  /** 80 % of the quota is used. Once a month. */
  QuotaWarned: quota,
  /** All of the quota is used. Once a month. */
  QuotaExceeded: quota,
  /** Once a month. What happens later is on the next one. */
  InvoiceClosed: z.object({
    organizationId: z.string(),
    invoiceId: z.string(),
    month: z.string(),
    currency: z.string(),
    lines: z.array(line),
    total: z.number().int(),
    /** The last event of the log that was counted. */
    countedTo: z.object({ position: z.string(), at: z.string().nullable() }),
  }),
};
