import { z } from 'zod';
import { STEP_TYPES, WAIT_REASONS } from '../serialize/explain/explanation.ts';
import { timeSchema } from './envelope.ts';
import { smtpSchema } from './event.ts';

const recipient = z.strictObject({ id: z.string(), address: z.string().nullable() });

const facts = z.strictObject({
  request_id: z.string().optional(),
  api_key_id: z.string().optional(),
  api_key_name: z.string().optional(),
  member_id: z.string().optional(),
  member_name: z.string().optional(),
  domain_id: z.string().optional(),
  idempotency_key_used: z.boolean().optional(),
  template_id: z.string().optional(),
  template_version: z.number().int().optional(),
  score: z.number().optional(),
  verdict: z.string().optional(),
  stream: z.string().optional(),
  recipient_ids: z.array(z.string()).optional(),
  attempt: z.number().int().optional(),
  destinations: z.array(z.string()).optional(),
  lease_until: timeSchema().optional(),
  scheduled_at: timeSchema().optional(),
  expires_at: timeSchema().optional(),
  next_attempt_at: timeSchema().optional(),
  smtp: smtpSchema.optional(),
  reason: z.string().optional(),
  method: z.string().optional(),
  /** For an opening or a click: true if it is the first by people, or the first by machines. */
  first: z.boolean().optional(),
  count: z.number().int().optional(),
  machine: z.boolean().optional(),
  client: z.string().optional(),
  network: z.string().optional(),
  /** Target of the link; null once the content has expired. */
  url: z.string().nullable().optional(),
  /** The report came after delivery. */
  late: z.boolean().optional(),
  webhook_id: z.string().optional(),
  event_id: z.string().optional(),
  event_type: z.string().optional(),
  /** HTTP status; null: no response. */
  status: z.number().int().nullable().optional(),
  duration_ms: z.number().int().optional(),
});

const wait = z.strictObject({
  recipient,
  reason: z.enum(WAIT_REASONS),
  sentence: z.string(),
  next_attempt_at: timeSchema().nullable().describe('Latest time of the next step; null: no fixed time.'),
});

const step = z.strictObject({
  at: timeSchema(),
  actor: z.strictObject({
    type: z.string().describe('`key`, `member`, `recipient`, `worker`, `operator` or `service`.'),
    id: z.string().nullable(),
  }),
  type: z.enum(STEP_TYPES),
  sentence: z.string(),
  recipient: recipient.optional(),
  facts,
});

/** Made by `serialize/explain`. */
export const explanationSchema = z.strictObject({
  object: z.literal('explanation'),
  message_id: z.string(),
  summary: z.string().describe('Current status, its reason, and the next step with its time.'),
  waiting_because: z.array(wait).describe('One per recipient not delivered yet; empty: none waits.'),
  steps: z.array(step).describe('Oldest first: the request, the checks, every attempt and reply, webhooks.'),
  left_out: z.string().nullable().describe('Entries omitted from a long history, and where to list them.'),
});
