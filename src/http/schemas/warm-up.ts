import { z } from 'zod';

const daySchema = () => z.string().meta({ format: 'date' });

const destinationSchema = z.strictObject({
  destination: z.string().describe('The mailbox provider.'),
  recipients: z.number().int().describe('Recipients sent to, plus reserved ones: a twentieth of the quota at a time.'),
});

export const warmUpSchema = z.strictObject({
  object: z.literal('domain_warm_up'),
  domain_id: z.string(),
  status: z.enum(['none', 'running', 'over']).describe('`none`: never started, or ended early.'),
  plan: z.array(z.number().int()).describe('Recipients per day and destination, from the first day.'),
  starts_on: daySchema().nullable(),
  ends_on: daySchema().nullable().describe('The last day of the plan.'),
  day: z.number().int().nullable().describe('Today’s number, from 1; null: no plan runs.'),
  recipients_max: z.number().int().nullable().describe('Today’s quota of each destination; null: no plan runs.'),
  today: z.array(destinationSchema).describe('The destinations with most mail today, at most 100.'),
});
export type SerializedWarmUp = z.infer<typeof warmUpSchema>;
