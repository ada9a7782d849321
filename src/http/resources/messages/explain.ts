import { z } from 'zod';
import { load, readWholeStream } from '../../../commands/execute.ts';
import { namesOfMembers } from '../../../commands/member.ts';
import { apiKey } from '../../../domain/api-key/api-key.ts';
import { membersIn } from '../../../domain/audit/report/words.ts';
import { customerEvents } from '../../../domain/customer-events/customer-events.ts';
import {
  destination,
  isCovered,
  isSuspended,
  ownDestination,
  type Suspension,
  senderDestination,
} from '../../../domain/destination/suspension.ts';
import { type Aggregate, fold } from '../../../domain/kernel/aggregate.ts';
import type { Position, StreamName } from '../../../domain/kernel/event-store.ts';
import type { OutboxEvent } from '../../../domain/kernel/events.ts';
import {
  apiKeyStream,
  destinationStream,
  messageStream,
  organizationStream,
  reputationStream,
  sendingDomainStream,
  templateStream,
} from '../../../domain/kernel/streams.ts';
import type { HoldReason } from '../../../domain/message/events.ts';
import { type ExistingMessage, isOpen, message } from '../../../domain/message/message.ts';
import { organization, suspensionOf } from '../../../domain/organization/organization.ts';
import { findingsOf, type MessageBody } from '../../../domain/ports/contents.ts';
import { deliveryId, type WebhookDelivery } from '../../../domain/ports/webhooks.ts';
import { type Reputation, reputation } from '../../../domain/reputation/reputation.ts';
import { sendingDomain } from '../../../domain/sending-domain/sending-domain.ts';
import { template } from '../../../domain/template/template.ts';
import { subscribesTo } from '../../../domain/webhook/webhook.ts';
import { withTimeout } from '../../../lib/async/async.ts';
import { maskQuotes, seesContents } from '../../auth/permissions.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { isUnavailable } from '../../errors.ts';
import { timeSchema } from '../../fields.ts';
import { readRecent, resourceEndpoint } from '../../reading.ts';
import { smtpSchema } from '../events/event.ts';
import { type Circumstances, explainMessage, type MessageFacts } from './explain/explain-message.ts';
import { explained, quotedIn, type RecordedMessageEvent, STEP_TYPES, WAIT_REASONS } from './explain/explanation.ts';
import { loadMessage } from './messages.ts';

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
  next_attempt_at: timeSchema().nullable().describe('Latest time of the next step. null: no fixed time.'),
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

export const explanationSchema = z.strictObject({
  object: z.literal('explanation'),
  message_id: z.string(),
  summary: z.string().describe('Current status, its reason, and the next step with its time.'),
  waiting_because: z
    .array(wait)
    .describe('Why each recipient that has not ended yet waits. Empty: no recipient waits.'),
  steps: z
    .array(step)
    .describe('The history, oldest first: the request, the checks, every attempt and reply, webhooks.'),
  left_out: z.string().nullable().describe('The part of a long history that is omitted, and where to list it.'),
});

/** Most organizations have one or two. Of more, the newest are read. */
const ENDPOINTS_MAX = 20;
/** Look-ups by primary key: about 10 ms in all. Of more, those of the newest events are read. */
const IDS_MAX = 2_000;
/** Each has up to eleven attempts. */
const DELIVERIES_MAX = 100;

type WebhookFacts = Pick<MessageFacts, 'deliveries' | 'deliveriesTold' | 'disabledWebhooks'>;

const read = async (
  deps: HttpDependencies,
  { organizationId, environment }: ExistingMessage,
  happenings: readonly RecordedMessageEvent[],
): Promise<WebhookFacts> => {
  await readRecent(deps, ['webhooks']);
  const { items, hasMore } = await deps.readModels.webhooks.list({
    organizationId,
    environment,
    limit: ENDPOINTS_MAX,
    after: null,
  });
  const events = explained(happenings).flatMap(customerEvents).reverse();
  const ids = events.flatMap(({ id, type }) =>
    items.filter((endpoint) => subscribesTo(endpoint.events, type)).map(({ webhookId }) => deliveryId(webhookId, id)),
  );
  const asked = ids.slice(0, IDS_MAX);
  const found =
    asked.length === 0
      ? []
      : await deps.readModels.inShareOf(organizationId, () =>
          deps.webhookDeliveries.find({ ids: asked, limit: DELIVERIES_MAX + 1 }),
        );
  const areAll = !hasMore && ids.length === asked.length && found.length <= DELIVERIES_MAX;
  return {
    deliveries: found.slice(0, DELIVERIES_MAX),
    deliveriesTold: areAll ? 'all' : 'newest',
    disabledWebhooks: new Set(items.filter(({ status }) => status !== 'enabled').map(({ webhookId }) => webhookId)),
  };
};

/**
 * Webhook deliveries of this message, without those to deleted endpoints. The message can be explained without them if
 * they cannot be read.
 */
const deliveriesOf = async (
  deps: HttpDependencies,
  message: ExistingMessage,
  happenings: readonly RecordedMessageEvent[],
): Promise<WebhookFacts> => {
  try {
    return await read(deps, message, happenings);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    deps.logger.warn({ err: error }, 'cannot read the webhook deliveries of a message');
    return { deliveries: [], deliveriesTold: 'unavailable', disabledWebhooks: new Set() };
  }
};

/** Holds that no reputation ends. */
const APART: readonly string[] = ['warm_up', 'organization_suspended'] satisfies readonly HoldReason[];

/** Current reputation of the domain and organization that hold back recipients of a message, by id. */
const reputationsOf = async (
  { context: { store } }: HttpDependencies,
  { recipients }: ExistingMessage,
): Promise<ReadonlyMap<string, Reputation>> => {
  const holders = [
    ...new Set(
      recipients.flatMap(({ held }) => (held === null || APART.includes(held.reason) ? [] : (held.heldBy ?? []))),
    ),
  ];
  const reputations = holders.map(
    async (id) => [id, (await load(store, reputation, reputationStream(id))).state] as const,
  );
  return new Map(await Promise.all(reputations));
};

/** Whether the organization must not send, as far as the message waits for that. */
const isSuspendedNow = async (
  { context: { store } }: HttpDependencies,
  { recipients, organizationId }: ExistingMessage,
): Promise<boolean> => {
  if (recipients.every(({ held }) => held?.reason !== 'organization_suspended')) return false;
  const { state } = await load(store, organization, organizationStream(organizationId));
  return suspensionOf(state) !== null;
};

/** Longer keeps clients waiting. Shorter hides the reason for a wait when the resolver is slow. */
const LOOK_UP_MS_MAX = 1_000;

type DomainSuspensions = readonly (readonly [domain: string, suspension: Suspension])[];

/**
 * Suspensions of the destinations that this message waits for, by recipient domain; without those whose DNS does not
 * answer in time.
 */
const suspensionsOf = async (
  { context, providerOf, serversOf }: HttpDependencies,
  { accepted, recipients, environment }: ExistingMessage,
  now: string,
): Promise<ReadonlyMap<string, Suspension>> => {
  if (providerOf === undefined || environment === 'test') return new Map();
  const { store, system } = context;

  const suspensionIn = async (name: string): Promise<Suspension | null> => {
    const { state } = await load(store, destination, destinationStream(name));
    return isSuspended(state, now) ? state.suspension : null;
  };

  const ofProvider = async (domain: string): Promise<Suspension | null> => {
    const suspension = await suspensionIn(await providerOf(domain));
    const { addresses } = suspension ?? {};
    if (addresses === undefined || serversOf === undefined) return suspension;
    return isCovered(new Set(addresses), await serversOf(domain)) ? suspension : null;
  };

  const lookUp = async (domain: string): Promise<DomainSuspensions> => {
    const forSender = async (name: string) => suspensionIn(senderDestination(accepted.domainId, name));
    const suspension =
      (await suspensionIn(ownDestination(domain))) ??
      (await ofProvider(domain)) ??
      (await forSender(ownDestination(domain))) ??
      (await forSender(await providerOf(domain)));
    return suspension === null ? [] : [[domain, suspension]];
  };
  const inTimeOrNothing = (domain: string): Promise<DomainSuspensions> =>
    withTimeout({ system, ms: LOOK_UP_MS_MAX }, lookUp(domain)).catch(() => []);

  const waitedFor = new Set(recipients.filter(({ status }) => isOpen(status)).map(({ domain }) => domain));
  return new Map((await Promise.all([...waitedFor].map(inTimeOrNothing))).flat());
};

/** Larger bodies are not read for the explanation: attachments can be 25 MB. */
const BODY_BYTES_MAX = 2_000_000;

/** State of a stream before a position. */
const stateAt = async <State, E extends OutboxEvent>(
  { context }: HttpDependencies,
  aggregate: Aggregate<State, E>,
  { stream, before }: { readonly stream: StreamName; readonly before: Position },
): Promise<State> => {
  const events = await readWholeStream(context.store, stream);
  return fold(
    aggregate,
    events.filter(({ position }) => position < before),
  );
};

const bodyOf = async ({ context }: HttpDependencies, { accepted }: ExistingMessage): Promise<MessageBody | null> => {
  if (accepted.sizeBytes > BODY_BYTES_MAX) return null;
  const found = (await context.contents.get([accepted.contentId])).get(accepted.contentId);
  return found?.kind === 'message' && found.confidential === undefined ? found : null;
};

const circumstancesOf = async (
  deps: HttpDependencies,
  existing: ExistingMessage,
  before: Position,
): Promise<Circumstances> => {
  const { keyId, domainId, template: used } = existing.accepted;
  const [key, domain, body, made] = await Promise.all([
    stateAt(deps, apiKey, { stream: apiKeyStream(keyId), before }),
    stateAt(deps, sendingDomain, { stream: sendingDomainStream(domainId), before }),
    bodyOf(deps, existing),
    used === undefined
      ? template.initial
      : stateAt(deps, template, { stream: templateStream(used.templateId), before }),
  ]);
  return {
    keyName: key.status === 'absent' ? null : key.name,
    verification: domain.status === 'absent' ? null : domain.verification,
    templateAlias: made.status === 'absent' ? null : made.alias,
    hadHtml: body?.html !== undefined,
    analysis: body?.analysis ?? null,
    findings: body === null ? [] : findingsOf(body),
  };
};

/** Loads everything an explanation is made of. @param id of an existing message. */
const whatIsKnown = async (deps: HttpDependencies, id: string): Promise<MessageFacts> => {
  const { context } = deps;
  // The stream of a message holds message events only.
  const happenings = (await readWholeStream(context.store, messageStream(id))) as readonly RecordedMessageEvent[];
  const state = fold(message, happenings);
  const [first] = happenings;
  if (state.status === 'absent' || first === undefined) throw new Error('the message has been read before');
  const now = context.system.now().toISOString();
  const acted = membersIn(happenings.map(({ metadata }) => metadata.actor));
  const [contents, people, circumstances, webhooks, suspensions, reputations, isOrganizationSuspended] =
    await Promise.all([
      context.contents.heads(quotedIn(state, happenings)),
      namesOfMembers(context, state.organizationId, acted),
      circumstancesOf(deps, state, first.position),
      deliveriesOf(deps, state, happenings),
      suspensionsOf(deps, state, now),
      reputationsOf(deps, state),
      isSuspendedNow(deps, state),
    ]);
  const waiting = { suspensions, reputations, isOrganizationSuspended, now };
  return { message: state, happenings, contents, people, circumstances, ...webhooks, ...waiting };
};

/** Deliveries as they stood at a moment: what was tried later had not happened. */
const deliveriesAt = (deliveries: readonly WebhookDelivery[], now: string): readonly WebhookDelivery[] =>
  deliveries.flatMap((delivery): readonly WebhookDelivery[] => {
    if (delivery.createdAt.toISOString() > now) return [];
    const tries = delivery.tries.filter(({ at }) => at.toISOString() <= now);
    const next = delivery.tries[tries.length];
    return next === undefined ? [delivery] : [{ ...delivery, tries, state: 'pending', dueAt: next.at }];
  });

export const explainMessageRoute = resourceEndpoint(
  'GET /v1/messages/:id/explain',
  {
    summary: 'Explain a message',
    description:
      'Explains in sentences what happened to a message and what happens next: the request, the key, the checks, every ' +
      'attempt with replies and transport security, every wait with its reason, and each webhook attempt. `facts` contains ' +
      'the codes behind each sentence. Sentences are for people and can change; types and facts are stable. Once the content ' +
      'has expired, addresses and reply texts are null. With `at`, returns what was known at that time.',
    answer: explanationSchema,
  },
  async ({ caller, id, isPast }, { deps }) => {
    await loadMessage(deps, caller, id);
    const all = await whatIsKnown(deps, id);
    const known = seesContents(caller) ? all : { ...all, contents: maskQuotes(all.contents) };
    return explainMessage(isPast ? { ...known, deliveries: deliveriesAt(known.deliveries, known.now) } : known);
  },
);
