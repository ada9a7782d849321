import { z } from 'zod';
import { timeSchema } from './envelope.ts';

export const replaySchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('webhook_replay'),
    webhook_id: z.string(),
    status: z
      .enum(['running', 'completed', 'cancelled'])
      .describe('`completed`: all of its deliveries have been created.'),
    since: timeSchema().nullable().describe('null: it started at a cursor.'),
    until: timeSchema(),
    deliveries: z
      .strictObject({ pending: z.number().int(), delivered: z.number().int(), failed: z.number().int() })
      .describe('Number of its deliveries in each state so far.'),
    created_at: timeSchema(),
    ended_at: timeSchema().nullable(),
  })
  .meta({ id: 'WebhookReplay' });
export type SerializedReplay = z.infer<typeof replaySchema>;
