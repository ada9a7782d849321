import { z } from 'zod';
import { planSchema } from './plan.ts';

/** A range of days on which one plan applied; `to` is the day after the last. */
const part = z.object({ month: z.string(), from: z.iso.date(), to: z.iso.date(), plan: planSchema });

const line = part.extend({
  /** `late_recipients` corrects a count on an earlier invoice. */
  kind: z.enum(['plan', 'recipients', 'late_recipients']),
  /** Days of a plan, or recipients. `late_recipients` can be negative. */
  quantity: z.number().int(),
  /** Log position. The counted events come after it and concern messages accepted on these days. */
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

/** Stream of one organization and month: its quota notices and its invoice. */
export const billingPeriodEvents = {
  /** 80 % of the quota is used. Recorded once a month. */
  QuotaWarned: quota,
  /** All of the quota is used. Recorded once a month. */
  QuotaExceeded: quota,
  /** Recorded once a month. Later facts are on the next invoice. */
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
