import type { z } from 'zod';
import type { eventSchema } from '../resources/events/event.ts';
import type { Json } from './operation.ts';

const DESCRIPTION = `What a webhook is sent, one event in each post, as Standard Webhooks 1.0.0 says. Any 2xx within 15 seconds is success;
redirects are not followed. Otherwise it is posted again after 5 seconds, 1, 5 and 30 minutes, 2, 5, 10, 14, 20 and 24 hours
(each ±10 %, or later where \`Retry-After\` asks for that), with the same \`webhook-id\`; then that delivery has failed. An
endpoint that answers 410, or that has failed for 5 days, is disabled.

Events are posted at least once and in any order: take each \`id\` once, and go by \`sequence\`, which rises by one within a
message.

Check the signature before you believe a post: \`webhook-signature\` holds one or several of \`v1,<Base64>\`, with spaces between
them, and one must be the HMAC-SHA256 of \`<webhook-id>.<webhook-timestamp>.<body as it came>\`. Its key are the bytes that the
secret stands for in Base64, without \`whsec_\`. Refuse timestamps that are more than 5 minutes off.`;

export const EVENT_EXAMPLE: z.input<typeof eventSchema> = {
  id: 'evt_mzuq4z5cw2kv2x6ftf2q5l6k7e',
  object: 'event',
  type: 'message.delivered',
  timestamp: '2026-01-31T12:00:00.000Z',
  environment: 'live',
  sequence: 3,
  data: {
    message_id: 'msg_ta3kqv6yq5c2n4xw7jd5rzu2fe',
    recipient: { id: 'rcp_b5x4w2q6mzn3kd7cfeu2ya5h4i', address: 'you@example.net', kind: 'to' },
    tags: [{ name: 'order', value: '1234' }],
    metadata: { customer: '42' },
    smtp: {
      code: 250,
      enhanced: '2.0.0',
      text: 'Ok: queued as 4F2Kx',
      mx: 'mx.example.net',
      tls: 'TLSv1.3',
      cipher: 'TLS_AES_256_GCM_SHA384',
      policy: 'opportunistic',
      address: '192.0.2.25',
      stage: 'content',
    },
    attempt: 1,
  },
};

const header = (name: string, description: string, pattern: string, required = true): Json => ({
  name,
  in: 'header',
  required,
  description,
  schema: { type: 'string', pattern },
});

const answer = (description: string): Json => ({ description, headers: {} });

/** Requests to customers' servers (OpenAPI 3.1.0 §4.8.1). */
export const WEBHOOKS: Json = {
  event: {
    post: {
      operationId: 'postEvent',
      summary: 'An event, posted to a webhook that subscribes to it',
      description: DESCRIPTION,
      tags: ['webhooks'],
      security: [],
      parameters: [
        header('webhook-id', 'The id of the event, the same at every try.', '^evt_[a-z2-7]{26}$'),
        header('webhook-timestamp', 'When this try was made, in seconds since 1970.', '^\\d+$'),
        header('webhook-signature', 'One or several signatures, with spaces between them.', '^v1,\\S+( v1,\\S+)*$'),
        header('webhook-replay', 'In a replay only: its id.', '^rpl_[a-z2-7]{26}$', false),
      ],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/Event' },
            examples: { delivered: { summary: 'A message was delivered to one recipient', value: EVENT_EXAMPLE } },
          },
        },
      },
      responses: {
        200: answer('Taken, as any other 2xx is.'),
        410: answer('Gone: the webhook is disabled.'),
        503: answer('Try again, after `Retry-After` where it is given, as after any other answer or none.'),
      },
    },
  },
};
