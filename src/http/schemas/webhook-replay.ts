import { z } from 'zod';
import { timeSchema } from './envelope.ts';

export const replaySchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('webhook_replay'),
    webhook_id: z.string(),
    status: z.enum(['running', 'completed', 'cancelled']).describe('`completed`: all of its deliveries are made.'),
    since: timeSchema().nullable().describe('null: it began at a cursor.'),
    until: timeSchema(),
    deliveries: z
      .strictObject({ pending: z.number().int(), delivered: z.number().int(), failed: z.number().int() })
      .describe('How many of its deliveries are in each state, of those made so far.'),
    created_at: timeSchema(),
    ended_at: timeSchema().nullable(),
  })
  .meta({ id: 'WebhookReplay' });
export type SerializedReplay = z.infer<typeof replaySchema>;
