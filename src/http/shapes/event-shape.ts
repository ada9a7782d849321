import { z } from 'zod';
import { BOUNCE_CATEGORIES } from '../../domain/bounce/categories.ts';
import { CUSTOMER_EVENT_TYPES } from '../../domain/customer-event-types.ts';
import { environmentSchema } from '../../domain/environment.ts';
import { SUPPRESSION_SCOPES } from '../../domain/suppression/events.ts';
import { smtpShape } from './smtp-shape.ts';
import { timeShape } from './time-shape.ts';

/** `domain/shown-event.ts` makes it, for the feed and for webhooks alike. */
export const eventShape = z.strictObject({
  id: z.string(),
  object: z.literal('event'),
  type: z.enum(CUSTOMER_EVENT_TYPES),
  timestamp: timeShape(),
  environment: environmentSchema.nullable(),
  sequence: z.number().int(),
  data: z.strictObject({
    message_id: z.string().optional(),
    recipient: z
      .strictObject({
        id: z.string(),
        address: z.string().nullable(),
        kind: z.enum(['to', 'cc', 'bcc']).nullable(),
      })
      .optional(),
    tags: z.array(z.strictObject({ name: z.string(), value: z.string() })).optional(),
    metadata: z.record(z.string(), z.string()).optional(),
    domain_id: z.string().optional(),
    organization_id: z.string().optional(),
    api_key_id: z.string().optional(),
    webhook_id: z.string().optional(),
    suppression: z.strictObject({ id: z.string(), address: z.string().nullable() }).optional(),
    smtp: smtpShape.optional(),
    attempt: z.number().int().optional(),
    next_attempt_at: timeShape().optional(),
    reason: z.string().optional(),
    /** Why it was refused. */
    category: z.enum(BOUNCE_CATEGORIES).optional(),
    /** It bounced after it had been delivered. */
    late: z.literal(true).optional(),
    /** It suppresses nobody: others of the domain had the same copy, and could have said so. */
    shared: z.literal(true).optional(),
    scheduled_at: timeShape().optional(),
    /** How somebody unsubscribed. */
    method: z.enum(['one_click', 'page', 'mail']).optional(),
    /** What a suppression keeps back. */
    scope: z.enum(SUPPRESSION_SCOPES).optional(),
    expires_at: timeShape().nullable().optional(),
  }),
});
