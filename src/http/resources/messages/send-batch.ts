import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { SendRequest } from '../../../commands/message/prepare-message.ts';
import { type BatchBody, BatchRefused, type SentBatch, sendBatch } from '../../../commands/message/send-batch.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { HtmlEntry } from '../../../domain/organization/events.ts';
import { mapConcurrently } from '../../../lib/async/async.ts';
import type { JsonBounds } from '../../../lib/http/http.ts';
import { domainOf } from '../../../lib/mime/mime.ts';
import type { AuthContext } from '../../auth/authenticate.ts';
import { consumeRateLimit, limitOf } from '../../auth/limits.ts';
import { endpoint, type RouteContext } from '../../endpoint.ts';
import { ERROR_STATUSES } from '../../errors.ts';
import { detailsOf, PROBLEMS_MAX, type Problem } from '../../problems.ts';
import { readSend, type SendRequestBody } from './send-body.ts';
import { htmlPolicyOf } from './send-fields.ts';
import {
  completeRequestOf,
  createTopicReader,
  idempotencyKey,
  SEND_BYTES_MAX,
  SEND_EXAMPLES,
  SEND_REST_BYTES_MAX,
  type SendCall,
  senderOf,
} from './send-message.ts';
import { batchSchema, serializeBatch } from './sent-message.ts';

const SENTENCES = 'nothing was sent because some messages are invalid: see details';

/** `to is required` in the fourth message becomes `messages[3].to is required`. */
const problemsOf = ([index, { message, details }]: readonly [number, DomainError]): readonly Problem[] => {
  const place = `messages[${index}]`;
  if (details === undefined) return [[place, `${place}: ${message}`]];
  return Object.entries(details).flatMap(([field, sentences]) =>
    sentences.map((sentence): Problem => {
      const isAboutField = sentence.startsWith(field);
      return [`${place}.${field}`, isAboutField ? `${place}.${sentence}` : sentence];
    }),
  );
};

/**
 * Merges the errors of a batch's messages into one: all errors with the lowest status, which a client has to correct
 * first (400 before 403 before 422).
 */
const batchRefusal = (refusals: ReadonlyMap<number, DomainError>): DomainError => {
  const statusOf = ({ code }: DomainError): number => ERROR_STATUSES[code];
  const lowest = Math.min(...[...refusals.values()].map(statusOf));
  const reported = [...refusals].filter(([, one]) => statusOf(one) === lowest);
  const codes = new Set(reported.map(([, { code }]) => code));
  // `invalid_html` is used only if no other error is reported.
  if (codes.size > 1) codes.delete('invalid_html');
  const [code = 'invalid_request'] = codes;
  const problems: Problem[] = [];
  for (const one of reported) {
    if (problems.length >= PROBLEMS_MAX) break;
    problems.push(...problemsOf(one));
  }
  return new DomainError(code, SENTENCES, { details: detailsOf(problems) });
};

/** Higher: a longer wait for the response. Lower: more round trips. All share one commit. */
export const BATCH_MESSAGES_MAX = 500;
/** Time to validate and analyse 8 MB of HTML beside other requests. */
export const BATCH_DEADLINE_MS = 60_000;
/** A hundred for each message; parsing them takes some milliseconds. */
const VALUES_MAX = 50_000;
export const BATCH_BOUNDS: JsonBounds = {
  bytesMax: SEND_BYTES_MAX,
  restBytesMax: SEND_REST_BYTES_MAX,
  valuesMax: VALUES_MAX,
  contentsAt: ['messages', null, 'attachments', null, 'content'],
};
/** One message is in a worker thread while the next is prepared. More would crowd out other requests. */
const LANES = 2;

/** Messages are validated one by one, in turns with other requests; the document refers to the schema of a send. */
const message = z.unknown().meta({ $ref: '#/$defs/SendMessageRequest' });

const body = z.strictObject({
  messages: z
    .array(message)
    .min(1)
    .max(BATCH_MESSAGES_MAX)
    .describe('Messages, each with the fields of a single send. Each uses one request of the rate limit.'),
  mode: z
    .enum(['strict', 'partial'])
    .default('strict')
    .describe('`strict`: one invalid message rejects the whole batch. `partial`: the valid messages are sent.'),
});

/**
 * Consumes the rate limit for all messages but the one that authentication counted, all or none. A batch above the
 * whole limit is always refused.
 * @throws {DomainError} `batch_exceeds_limit`, `rate_limit_exceeded`.
 */
export const consumeForAll = async (
  auth: AuthContext,
  { count, field }: { readonly count: number; readonly field: 'messages' | 'ids' },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> => {
  const { authenticated, overLimit } = request;
  if (authenticated === null) return;
  const limit = limitOf(auth, authenticated, 'send');
  if (count > limit) {
    const problem = `${field} must have at most ${limit} items: this is how many the key may send per minute`;
    throw new DomainError('batch_exceeds_limit', problem, { details: { [field]: [problem] } });
  }
  if (overLimit !== null) throw overLimit;
  if (count > 1) await consumeRateLimit(auth, authenticated, { kind: 'send', count: count - 1 }, reply);
};

interface SenderWithTopics {
  readonly sender: Caller;
  readonly topicOf: ReturnType<typeof createTopicReader>;
}

/** Finds who sends a message: the caller, from the domain that a member names. Each domain is looked up once. */
const createSenderReader = ({ deps, auth }: RouteContext, caller: Caller) => {
  const known = new Map<string, Promise<SenderWithTopics>>();
  const read = async (from: string | undefined): Promise<SenderWithTopics> => {
    const sender = await senderOf(auth.keyCache, caller, from);
    return { sender, topicOf: createTopicReader(deps, sender) };
  };
  return ({ from }: SendRequestBody): Promise<SenderWithTopics> => {
    const name = caller.member === undefined || from === undefined ? '' : domainOf(from.address);
    const found = known.get(name) ?? read(from?.address);
    known.set(name, found);
    return found;
  };
};

/** Validates each message on its own: its send command or its error. Errors found earlier are returned as they are. */
const readAll = (
  route: RouteContext,
  caller: Caller,
  { messages, entry }: Pick<AcceptBatch, 'messages' | 'entry'>,
): Promise<readonly (SendRequest | DomainError)[]> => {
  const { context } = route.deps;
  const html = htmlPolicyOf(route, entry, caller);
  const use = route.templates.of(caller.organizationId);
  const senderFor = createSenderReader(route, caller);
  return mapConcurrently(messages, { system: context.system, concurrency: LANES }, async (sent) => {
    if (sent instanceof DomainError) return sent;
    try {
      const asked = await readSend(html, sent, caller);
      const { sender, topicOf } = await senderFor(asked);
      return { ...(await completeRequestOf(route, sender, { use, topicOf, html }, asked)), domain: sender.domain };
    } catch (error) {
      if (error instanceof DomainError) return error;
      throw error;
    }
  });
};

const requireAll = (items: readonly (SendRequest | DomainError)[]): void => {
  const refused = items.flatMap((one, index) => (one instanceof DomainError ? [[index, one] as const] : []));
  if (refused.length > 0) throw batchRefusal(new Map(refused));
};

/** Whether every accepted message is a replay. */
const isReplayed = (sent: SentBatch): boolean => {
  const replayed = sent.flatMap((one) => (one instanceof DomainError ? [] : [one.replayed]));
  return replayed.length > 0 && replayed.every(Boolean);
};

/** Why no message of a suspended organization is accepted: said once, not for each message. */
const suspensionIn = (items: Iterable<unknown>): DomainError | undefined =>
  [...items].find((one): one is DomainError => one instanceof DomainError && one.code === 'organization_suspended');

const inOneRefusal = (error: unknown): never => {
  throw error instanceof BatchRefused ? (suspensionIn(error.refusals.values()) ?? batchRefusal(error.refusals)) : error;
};

export interface AcceptBatch {
  /** Bodies of sends, not validated yet, or why one is refused; at most `BATCH_MESSAGES_MAX`. */
  readonly messages: readonly unknown[];
  /** One that is refused refuses all. */
  readonly strict: boolean;
  /** Decides which html is accepted. */
  readonly entry: HtmlEntry;
  /** The request as it came: its digests are recorded. */
  readonly body: BatchBody;
}

/**
 * Accepts the messages of one request. Each costs one of the limit `send`.
 * @throws {DomainError} by the catalogue.
 */
export const acceptBatch = async (
  route: RouteContext,
  { caller, callerNow, origin, request, reply }: SendCall,
  { messages, strict, entry, body: asSent }: AcceptBatch,
): Promise<SentBatch> => {
  const key = idempotencyKey(request);
  await consumeForAll(route.auth, { count: messages.length, field: 'messages' }, request, reply);
  const items = await readAll(route, caller, { messages, entry });
  if (strict) requireAll(items);
  await callerNow(); // validation may have taken long
  const command = { items, strict, body: asSent, idempotencyKey: key };
  const sent = await sendBatch(route.deps.context, origin, caller, command).catch(inOneRefusal);
  const suspension = suspensionIn(sent);
  if (suspension !== undefined && sent.every((one) => one instanceof DomainError)) throw suspension;
  if (isReplayed(sent)) reply.header('idempotent-replayed', 'true');
  return sent;
};

const EXAMPLES = {
  'Two messages': { messages: [SEND_EXAMPLES['To one recipient'], SEND_EXAMPLES['To one recipient']] },
  'Send the valid messages only': { messages: [SEND_EXAMPLES['To one recipient']], mode: 'partial' as const },
};

const DESCRIPTION = `Sends up to 500 messages with one request. Each message has the fields of a single send and uses one request of the
rate limit. A batch with more messages than the limit of the key is always 422 \`batch_exceeds_limit\`.

- \`strict\`: if one message is invalid, nothing is sent, and \`details\` names the field, such as \`messages[3].to\`.
- \`partial\`: each message is accepted or rejected separately. The response is 202 even if all are rejected, unless the
  organization is suspended.

A batch is not one transaction: after a 503, send the same request with the same \`Idempotency-Key\` to complete it.`;

export const sendBatchRoute = endpoint(
  'POST /v1/messages/batch',
  {
    summary: 'Send a batch of messages',
    description: DESCRIPTION,
    body,
    examples: EXAMPLES,
    answer: batchSchema,
    bounds: BATCH_BOUNDS,
    deadlineMs: BATCH_DEADLINE_MS,
  },
  async (call, route) => {
    const { messages, mode } = call.body;
    // Its schema has just passed.
    const body = call.request.body as BatchBody;
    return serializeBatch(await acceptBatch(route, call, { messages, strict: mode === 'strict', entry: 'api', body }));
  },
);
