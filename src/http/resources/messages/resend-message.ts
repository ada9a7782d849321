import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { resendMessage } from '../../../commands/message/resend-message.ts';
import type { SentMessage } from '../../../commands/message/send-message.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { mapConcurrently } from '../../../lib/async/async.ts';
import { type Call, endpoint, type RouteContext } from '../../endpoint.ts';
import { atMost, errorCodeSchema } from '../../fields.ts';
import { ifMatch } from '../../reading.ts';
import { loadMessage } from './messages.ts';
import { BATCH_DEADLINE_MS, consumeForAll } from './send-batch.ts';
import { createTopicReader, senderOf } from './send-message.ts';
import { sentMessageSchema, serializeSentMessage } from './sent-message.ts';

/** Sends messages again to recipients that they did not reach. */

/** Recipients of a message. A message has at most 50, and one sent by SMTP at most 100. */
const RECIPIENTS_MAX = 100;
/** Messages per request. Each content can have 25 MB. Higher: the request takes longer than clients wait. Lower: more requests. */
const RESENT_MAX = 100;

const skipField = z
  .boolean()
  .default(false)
  .describe('true: if some recipients are suppressed, send to the others. false: 409 `recipient_suppressed`.');

const RULES = `Recipients that bounced, failed, expired or were suppressed are sent the same content in a new message. Each recipient is
sent to again once: repeating the request returns the new message and sends nothing. If the new message fails too, send
that one again.

Suppressed addresses are refused (409 \`recipient_suppressed\`) until you remove the suppression. When the content is no
longer stored, the response is 409 \`content_removed\`. The new message counts like any other: against the rate limit, the
quota and the plan.`;

const answer = sentMessageSchema
  .extend({
    resend_of: z.string().describe('Id of the message that was sent again.'),
    replayed: z.boolean().describe('true: it was sent again before, and this request sent nothing.'),
  })
  .meta({ id: 'ResentMessage' });

interface ResendOne {
  readonly recipientIds: readonly string[] | null;
  readonly skipSuppressed: boolean;
  /** Absent: the request has no `If-Match`. */
  readonly request?: FastifyRequest;
}

/** @throws {DomainError} by the catalogue. */
const resendOne = async (
  { deps, auth }: RouteContext,
  { caller, origin }: Pick<Call<unknown, unknown>, 'caller' | 'origin'>,
  id: string,
  { request, ...options }: ResendOne,
): Promise<SentMessage> => {
  const { message, known } = await loadMessage(deps, caller, id);
  const { fromDomain, topic } = message.accepted;
  const sender: Caller = await senderOf(auth.keyCache, caller, `sender@${fromDomain}`);
  return resendMessage(deps.context, origin, sender, {
    messageId: id,
    known,
    ...options,
    ...(request === undefined ? {} : ifMatch(request)),
    ...(topic === undefined ? {} : { topic: await createTopicReader(deps, sender)(topic.id) }),
  });
};

export const resendMessageRoute = endpoint(
  'POST /v1/messages/:id/resend',
  {
    summary: 'Send a message again',
    description: RULES,
    body: z.strictObject({
      recipient_ids: atMost(RECIPIENTS_MAX, z.array(z.string()).min(1))
        .optional()
        .describe('Ids of recipients. Default: all recipients that the message did not reach.'),
      skip_suppressed: skipField,
    }),
    examples: {
      'To all recipients that it did not reach': {},
      'Without suppressed addresses': { skip_suppressed: true },
    },
    answer,
    large: true,
  },
  async ({ caller, origin, id, body, request }, route) => {
    const { recipient_ids: recipientIds = null, skip_suppressed: skipSuppressed } = body;
    const sent = await resendOne(route, { caller, origin }, id, { recipientIds, skipSuppressed, request });
    return { ...serializeSentMessage(sent.message, sent.body), resend_of: id, replayed: sent.replayed };
  },
);

const manyAnswer = z.strictObject({
  object: z.literal('resending'),
  matched: z.number().int().describe('The messages of this request.'),
  sent: z.number().int().describe('New messages of this request.'),
  data: z.array(
    z.strictObject({
      id: z.string(),
      resent_as: z.string().nullable().describe('Id of the new message. null: see `error`.'),
      recipients: z.number().int().describe('Recipients of the new message.'),
      replayed: z.boolean().describe('true: it was sent again before, and this request sent nothing.'),
      error: z.strictObject({ code: errorCodeSchema, message: z.string() }).nullable(),
    }),
  ),
});
type ResendResult = z.output<typeof manyAnswer>['data'][number];

export const resendMessagesRoute = endpoint(
  'POST /v1/messages/resend',
  {
    summary: 'Send several messages again',
    description: `Sends up to ${RESENT_MAX} messages again, each separately: one that cannot be sent again is reported in \`data\` and does not stop the others. ${RULES} Each message uses one request of the rate limit \`send\`.`,
    body: z.strictObject({
      ids: atMost(RESENT_MAX, z.array(z.string()).min(1)).describe(`At most ${RESENT_MAX} messages.`),
      skip_suppressed: skipField,
    }),
    examples: { 'Two messages': { ids: [`msg_${'a'.repeat(26)}`, `msg_${'b'.repeat(26)}`], skip_suppressed: true } },
    answer: manyAnswer,
    deadlineMs: BATCH_DEADLINE_MS,
    large: true,
  },
  async ({ callerNow, origin, body: { ids, skip_suppressed: skipSuppressed }, request, reply }, route) => {
    const wanted = [...new Set(ids)];
    await consumeForAll(route.auth, { count: wanted.length, field: 'ids' }, request, reply);
    const { system } = route.deps.context;
    // One content in memory at a time.
    const data = await mapConcurrently(wanted, { system, concurrency: 1 }, async (id): Promise<ResendResult> => {
      const caller = await callerNow(); // the key or session may have been revoked since the first
      try {
        const { message, replayed } = await resendOne(route, { caller, origin }, id, {
          recipientIds: null,
          skipSuppressed,
        });
        const { messageId, recipients } = message.accepted;
        return { id, resent_as: messageId, recipients: recipients.length, replayed, error: null };
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        const { code, message } = error;
        return { id, resent_as: null, recipients: 0, replayed: false, error: { code, message } };
      }
    });
    const sent = data.filter(({ resent_as: newId, replayed }) => newId !== null && !replayed).length;
    return { object: 'resending', matched: data.length, sent, data };
  },
);
