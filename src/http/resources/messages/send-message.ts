import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { requireFromDomain, type SendRequest } from '../../../commands/message/prepare-message.ts';
import { type SentMessage, sendMessage } from '../../../commands/message/send-message.ts';
import type { UseTemplate } from '../../../commands/template/use-template.ts';
import { usableTopic } from '../../../commands/topic.ts';
import { RULES_VERSION } from '../../../domain/analysis/analysis.ts';
import type { DomainFacts } from '../../../domain/analysis/facts.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { HtmlEntry } from '../../../domain/organization/events.ts';
import type { ExistingTopic } from '../../../domain/topic/topic.ts';
import type { JsonBounds } from '../../../lib/http/http.ts';
import { domainOf } from '../../../lib/mime/mime.ts';
import type { KeyCache } from '../../auth/key-cache.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { type Call, defineEndpoint, endpoint, type RouteContext } from '../../endpoint.ts';
import {
  type BeyondBody,
  completeSend,
  draftOf,
  type SendBody,
  type SendRequestBody,
  sendRequestBody,
  sendRequestProblems,
} from './send-body.ts';
import { findingsIn, type HtmlPolicy, htmlPolicyOf, isHtmlAlone, UNCHECKED } from './send-fields.ts';
import { analysisSchema, sentMessageSchema, serializeAnalysis, serializeSentMessage } from './sent-message.ts';

const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

const malformed = (problem: string): DomainError =>
  new DomainError('invalid_request', 'the Idempotency-Key is malformed', { details: { 'Idempotency-Key': [problem] } });

/** Whether the header is repeated: Node joins the values into one. */
const isRepeated = ({ raw }: FastifyRequest): boolean =>
  raw.rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'idempotency-key').length > 1;

/** @throws {DomainError} `invalid_request`. */
export const idempotencyKey = (request: FastifyRequest): string | null => {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return null;
  if (isRepeated(request)) throw malformed('Idempotency-Key must be sent only once');
  if (typeof header === 'string' && PRINTABLE.test(header)) return header;
  throw malformed('Idempotency-Key must be 1 to 255 printable ASCII characters');
};

/** Catches up with the log before a send from an unverified domain is refused: it may have been verified just now. */
export const withFreshDomain = async (keyCache: KeyCache, caller: Caller): Promise<Caller> => {
  if (caller.domain.verified || caller.domain.id === '' || caller.environment === 'test') return caller;
  await keyCache.catchUp();
  return { ...caller, domain: keyCache.domainOf(caller.domain.id) };
};

/**
 * A member belongs to no domain, and sends from any of the organization's. With a key, as `withFreshDomain`.
 * @param from address of the sender; undefined: none is named, and the first verified domain is taken.
 */
export const senderOf = (keyCache: KeyCache, caller: Caller, from: string | undefined): Promise<Caller> => {
  if (caller.member === undefined) return withFreshDomain(keyCache, caller);
  const name = from === undefined ? null : domainOf(from);
  const domain = keyCache.domainNamed(caller.organizationId, name) ?? caller.domain;
  return withFreshDomain(keyCache, { ...caller, domain });
};

/**
 * Facts about the key's domain for an analysis, from the key cache, not the DNS. The cache catches up before a domain
 * is considered unverified. A test key's domain needs no verification: its mail never leaves.
 */
export const domainFactsFor = async (
  keyCache: KeyCache,
  { domain: { id }, environment }: Caller,
): Promise<DomainFacts> => {
  const facts = keyCache.domainFactsOf(id);
  if (facts.verified) return facts;
  if (environment === 'test') return { ...facts, verified: true };
  await keyCache.catchUp();
  return keyCache.domainFactsOf(id);
};

type TopicReader = (topicId: string) => Promise<ExistingTopic | DomainError>;

/** Finds the topics that messages of the caller name, each once. A refusal is the message's: a repeat of it is answered. */
export const createTopicReader = (
  { context }: Pick<HttpDependencies, 'context'>,
  { organizationId, domain }: Caller,
): TopicReader => {
  const known = new Map<string, ReturnType<TopicReader>>();
  const read: TopicReader = (topicId) =>
    usableTopic(context, { organizationId, domainId: domain.id }, topicId).catch((error: unknown) => {
      if (error instanceof DomainError) return error;
      throw error;
    });
  return (topicId) => {
    const found = known.get(topicId) ?? read(topicId);
    known.set(topicId, found);
    return found;
  };
};

interface MoreOfSend {
  readonly beyond?: BeyondBody;
  readonly html: HtmlPolicy;
  /** Shared by the messages of a batch. */
  readonly topicOf?: TopicReader;
}

/** Makes the send command of a body, with its analysis if requested. @throws {DomainError} `body_too_large`. */
export const sendRequestOf = async (
  { deps, auth }: Pick<RouteContext, 'deps' | 'auth'>,
  caller: Caller,
  body: SendBody,
  { beyond, html, topicOf = createTopicReader(deps, caller) }: MoreOfSend,
): Promise<SendRequest> => {
  const draft = draftOf(body, beyond);
  const about = body.topic === undefined ? {} : { topic: await topicOf(body.topic) };
  const policy = body.analysis ?? auth.keyCache.settingsOf(caller.organizationId).analysis;
  if (policy === 'off') return { draft, ...about, findings: await findingsIn(html, draft.html, caller) };
  const domain = await domainFactsFor(auth.keyCache, caller);
  return {
    draft,
    ...about,
    analysed: {
      analysis: await deps.analyzer.analyze({ draft, domain }, caller.organizationId),
      blocks: policy === 'block',
    },
  };
};

/** Like `sendRequestOf`, but renders the message's template. */
export const completeRequestOf = async (
  route: Pick<RouteContext, 'deps' | 'auth'>,
  caller: Caller,
  { use, ...once }: Omit<MoreOfSend, 'beyond'> & { readonly use: UseTemplate },
  asked: SendRequestBody,
): Promise<SendRequest> => {
  const { body, template, refusal } = await completeSend(use, caller, asked);
  if (refusal !== null) return { ...(await sendRequestOf(route, caller, { ...body, analysis: 'off' }, once)), refusal };
  const request = await sendRequestOf(route, caller, body, once);
  return template === null ? request : { ...request, draft: { ...request.draft, template } };
};

/** A request that sends, whatever its body looks like. */
export type SendCall = Pick<Call<unknown, unknown>, 'caller' | 'callerNow' | 'origin' | 'request' | 'reply'>;

/**
 * Accepts one message of a request, once, if it came with an `Idempotency-Key`.
 * @param body what the request asks for, validated.
 * @param entry decides which html is accepted.
 * @throws {DomainError} by the catalogue.
 */
export const acceptSend = async (
  route: RouteContext,
  { caller, callerNow, origin, request, reply }: SendCall,
  body: SendRequestBody,
  entry: HtmlEntry,
): Promise<SentMessage> => {
  const key = idempotencyKey(request);
  const sender = await senderOf(route.auth.keyCache, caller, body.from?.address);
  const use = route.templates.of(caller.organizationId);
  const asked = await completeRequestOf(route, sender, { use, html: htmlPolicyOf(route, entry, caller) }, body);
  await callerNow(); // the analysis may have taken long
  const command = { ...asked, body: request.body, idempotencyKey: key };
  const sent = await sendMessage(route.deps.context, origin, sender, command);
  if (sent.replayed) reply.header('idempotent-replayed', 'true');
  return sent;
};

/** Examples in the OpenAPI document. A test sends each. */
export const SEND_EXAMPLES = {
  'To one recipient': {
    from: 'Shop <hello@example.test>',
    to: 'you@example.net',
    subject: 'Your order',
    html: '<p>Thank you.</p>',
  },
  'With everything': {
    from: 'Shop <hello@example.test>',
    to: ['Ann <ann@example.net>', 'bob@example.org'],
    cc: 'carol@example.net',
    bcc: ['archive@example.test'],
    reply_to: 'help@example.test',
    subject: 'Your invoice',
    html: '<p>Your invoice is attached.</p><p><img src="cid:logo" alt="Shop" width="120"></p>',
    text: 'Your invoice is attached.',
    attachments: [
      { filename: 'invoice.txt', content: 'VG90YWw6IDQyLjAwIEVVUgo=', content_type: 'text/plain' },
      {
        filename: 'logo.gif',
        content: 'R0lGODlhAQABAAAAACwAAAAAAQABAAA=',
        content_type: 'image/gif',
        content_id: 'logo',
      },
    ],
    headers: { 'X-Order': '1234' },
    tags: [{ name: 'kind', value: 'invoice' }],
    metadata: { order: '1234' },
    stream: 'transactional',
    ttl_seconds: 86_400,
  },
} satisfies Readonly<Record<string, z.input<typeof sendRequestBody>>>;

/** An encoded message of 25 MB as JSON, with some escapes in its bodies. */
export const SEND_BYTES_MAX = 29_000_000;
/** HTML and text of a million characters each, with some escapes. More blocks the event loop too long. */
export const SEND_REST_BYTES_MAX = 8_000_000;
/** The largest valid message has four hundred. */
const SEND_VALUES_MAX = 5_000;

export const SEND_BOUNDS: JsonBounds = {
  bytesMax: SEND_BYTES_MAX,
  restBytesMax: SEND_REST_BYTES_MAX,
  valuesMax: SEND_VALUES_MAX,
  contentsAt: ['attachments', null, 'content'],
};

export const sendMessageRoute = (route: RouteContext): void => {
  defineEndpoint(
    route,
    'POST /v1/messages/send',
    {
      summary: 'Send an email',
      description:
        'Accepts a message for its recipients and stores it durably before it answers 202; delivery follows within moments, or at `scheduled_at`. Requires `from`, `to`, and a `subject` with `html` or `text`, or a `template`. Send an `Idempotency-Key` so that you can safely repeat the request. Follow the outcome with `GET /v1/messages/{id}`, events or webhooks.',
      body: sendRequestBody,
      examples: SEND_EXAMPLES,
      answer: sentMessageSchema,
      bounds: SEND_BOUNDS,
      problems: (body, caller) => sendRequestProblems(htmlPolicyOf(route, 'api', caller))(body, caller),
      codeOf: (problems) => (isHtmlAlone(problems) ? 'invalid_html' : 'invalid_request'),
    },
    async (call) => {
      const sent = await acceptSend(route, call, call.body, 'api');
      return serializeSentMessage(sent.message, sent.body);
    },
  );
};

const DESCRIPTION = `Checks the content of a message without sending or storing it. The body is the one of a send. The result depends only
on the message: nothing is looked up.

A finding is an \`error\` if you should not send the message as it is, a \`warning\` if the message will look or deliver
worse, and an \`info\` otherwise. The verdict is \`fail\` with any error, and \`warn\` with any warning. The score starts at
100; each rule subtracts its points for every finding, up to its own maximum. Version of the rules: ${RULES_VERSION}.`;

export const analyzeMessageRoute = endpoint(
  'POST /v1/messages/analyze',
  {
    summary: 'Analyze a message',
    description: DESCRIPTION,
    body: sendRequestBody,
    examples: SEND_EXAMPLES,
    answer: analysisSchema,
    bounds: SEND_BOUNDS,
    problems: sendRequestProblems(UNCHECKED),
  },
  async ({ caller, body }, route) => {
    const { analyzer } = route.deps;
    const complete = await completeSend(route.templates.of(caller.organizationId), caller, body);
    if (complete.refusal !== null) throw complete.refusal;
    const draft = draftOf(complete.body);
    const sender = await senderOf(route.auth.keyCache, caller, draft.from.address);
    requireFromDomain(sender, draft.from.address);
    const domain = await domainFactsFor(route.auth.keyCache, sender);
    return serializeAnalysis(await analyzer.analyze({ draft, domain }, caller.organizationId));
  },
);
