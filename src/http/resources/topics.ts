import { z } from 'zod';
import { recordOptIns } from '../../commands/suppression.ts';
import { changeTopic, createTopic, deleteTopic, loadTopic } from '../../commands/topic.ts';
import type { Caller } from '../../domain/api-key/caller.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { topicStream } from '../../domain/kernel/streams.ts';
import { strongestEntry } from '../../domain/suppression/suppression.ts';
import { type ExistingTopic, TOPIC_DEFAULTS, topic } from '../../domain/topic/topic.ts';
import { bodyOf } from '../bodies.ts';
import { defineEndpoint, endpoint, type RouteContext } from '../endpoint.ts';
import { atMost, listOf, listSchema, pageParameters, shownLine, text, timeSchema } from '../fields.ts';
import {
  decodeCursor,
  encodeCursor,
  ifMatch,
  listEndpoint,
  readRecent,
  readYourWrites,
  resourceEndpoint,
  setRevision,
  statesOf,
} from '../reading.ts';
import { loadDomain } from './domains/domains.ts';
import { addressField, distinct, loadEvidence } from './suppressions/add-suppressions.ts';
import { idOfAddress, visibleDomain } from './suppressions/suppressions.ts';

const topicSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('topic'),
    name: z.string(),
    description: z.string().nullable(),
    default: z.enum(TOPIC_DEFAULTS),
    domain_id: z.string().nullable(),
    created_at: timeSchema(),
  })
  .meta({ id: 'Topic' });

const serializeTopic = (topic: ExistingTopic): z.infer<typeof topicSchema> => ({
  id: topic.topicId,
  object: 'topic',
  name: topic.name,
  description: topic.description,
  default: topic.default,
  domain_id: topic.domainId,
  created_at: topic.createdAt,
});

const NAME_CHARACTERS_MAX = 100;
const DESCRIPTION_CHARACTERS_MAX = 300;
/** Topics on the preference page. More: the page is too long to read, and its form must fit into one post. */
export const TOPICS_MAX = 100;

const name = shownLine(NAME_CHARACTERS_MAX).describe('Name shown to recipients on the preference page.');
const description = shownLine(DESCRIPTION_CHARACTERS_MAX).nullable();

const body = z.strictObject({
  name,
  description: description.default(null).describe('One sentence shown to recipients below the name.'),
  default: z
    .enum(TOPIC_DEFAULTS)
    .describe(
      '`in`: recipients get this mail unless they opt out. `out`: only recipients who opted in get it. You cannot change this later.',
    ),
  domain_id: z
    .string()
    .nullable()
    .default(null)
    .describe('Id of the only domain that may use the topic. null: all domains of the organization may use it.'),
});

export const createTopicRoute = (route: RouteContext): void => {
  const { deps } = route;

  /** Read from the read model: a few topics over the limit, created at the same moment, do no harm. */
  const isFull = async ({ organizationId }: Caller): Promise<boolean> => {
    const by = { organizationId, domainId: null, limit: TOPICS_MAX, after: null };
    const read = readRecent(deps, ['topics']).then(() => deps.readModels.topics.list(by));
    const counted = await read.catch(() => null);
    return counted !== null && counted.items.length >= TOPICS_MAX;
  };

  defineEndpoint(
    route,
    'POST /v1/topics',
    {
      summary: 'Create a topic',
      description: `Creates a kind of mail that recipients can choose separately, such as offers or event invitations. Send the returned id as \`topic\` with each message about it. An organization has at most ${TOPICS_MAX} topics, shared by both environments.`,
      body,
      examples: {
        'Sent unless recipients opt out': {
          name: 'Offers',
          description: 'News from the shop, once a week.',
          default: 'in',
        },
        'Sent only to recipients who opted in': { name: 'Event invitations', default: 'out' },
      },
      answer: topicSchema,
    },
    async ({ caller, origin, body: { domain_id: domainId, ...asked }, reply }) => {
      if (domainId !== null) await loadDomain(deps, caller, domainId);
      if (await isFull(caller)) {
        throw new DomainError(
          'too_many_topics',
          `an organization has at most ${TOPICS_MAX} topics: delete one that is no longer used`,
        );
      }
      const { topic, revision } = await createTopic(deps.context, origin, { ...asked, domainId });
      setRevision(reply, revision);
      reply.header('location', `/v1/topics/${topic.topicId}`);
      return serializeTopic(topic);
    },
  );
};

export const listTopicsRoute = listEndpoint(
  'GET /v1/topics',
  { summary: 'List topics', of: 'topics', item: topicSchema, takesAt: true },
  async (by, { organizationId }, { deps }) => {
    const page = await deps.readModels.topics.list({ organizationId, domainId: null, ...by });
    const streams = page.items.map(({ topicId }) => topicStream(topicId));
    const topics = by.withDeleted ? await statesOf(deps.context, topic, streams) : page.items;
    return { ...page, items: topics.map(serializeTopic) };
  },
);

export const getTopicRoute = resourceEndpoint(
  'GET /v1/topics/:id',
  { summary: 'Get a topic', answer: topicSchema },
  async ({ caller, id, reply }, { deps: { context } }) => {
    const { topic, revision } = await loadTopic(context, caller.organizationId, id);
    setRevision(reply, revision);
    return serializeTopic(topic);
  },
);

const changes = z.strictObject({
  name: name.optional(),
  description: description.optional().describe('One sentence shown to recipients below the name. null removes it.'),
});

export const updateTopicRoute = endpoint(
  'PATCH /v1/topics/:id',
  {
    summary: 'Update a topic',
    description: 'Changes the name or the description. Omitted fields stay unchanged.',
    body: changes,
    examples: { 'Another name': { name: 'Weekly offers' } },
    answer: topicSchema,
  },
  async ({ caller, origin, id, body: asked, request, reply }, { deps: { context } }) => {
    const { known } = await loadTopic(context, caller.organizationId, id);
    const command = { topicId: id, known, name: asked.name, description: asked.description, ...ifMatch(request) };
    const { topic, revision } = await changeTopic(context, origin, command);
    setRevision(reply, revision);
    return serializeTopic(topic);
  },
);

export const deleteTopicRoute = endpoint(
  'DELETE /v1/topics/:id',
  {
    summary: 'Delete a topic',
    description:
      'New messages can no longer use the topic, and recipients no longer see it. Messages that were already accepted ' +
      'are still sent. The choices of recipients stay on record.',
  },
  async ({ caller, origin, id, request }, { deps: { context } }) => {
    const { known } = await loadTopic(context, caller.organizationId, id);
    await deleteTopic(context, origin, { topicId: id, known, ...ifMatch(request) });
  },
);

/** Each costs a read and an append. */
const OPT_INS_MAX = 1000;
/** Fits the maximum number of addresses at their maximum length. */
const OPT_IN_BYTES_MAX = 500_000;
const OPT_IN_DEADLINE_MS = 30_000;
/** A few sentences. */
const EVIDENCE_CHARACTERS_MAX = 2000;

const optIns = z.strictObject({
  addresses: atMost(OPT_INS_MAX, z.array(addressField()).min(1).max(OPT_INS_MAX)).describe(
    'Addresses of people who opted in.',
  ),
  evidence: text(EVIDENCE_CHARACTERS_MAX)
    .nullable()
    .default(null)
    .describe('How, when and where they opted in. Shown to you in the list of opt-ins, never to recipients.'),
});

const optInsSchema = z
  .strictObject({
    object: z.literal('topic_opt_ins'),
    topic_id: z.string(),
    added: z.number().int().describe('Number of addresses that opted in now.'),
    unchanged: z
      .number()
      .int()
      .describe('Number of addresses that had already opted in. Their new time and evidence are recorded anyway.'),
    data: z
      .array(
        z.strictObject({
          address: z.string(),
          suppressed: z
            .strictObject({ transactional: z.boolean(), bulk: z.boolean() })
            .describe(
              'For each stream: true if another suppression still blocks mail about the topic to this address.',
            ),
        }),
      )
      .describe('One entry per address, in the order of `addresses`, without duplicates.'),
  })
  .meta({ id: 'TopicOptIns' });

export const optInRoute = endpoint(
  'POST /v1/topics/:id/opt-ins',
  {
    summary: 'Record opt-ins to a topic',
    description:
      'Records consent that you collected elsewhere, such as in a shop or on paper. From now on these recipients get mail ' +
      'about a topic with `default: "out"`. An opt-in cancels an earlier opt-out of this topic. It does not lift ' +
      'unsubscriptions from all mail, bounces, complaints or suppressions that you added. Recipients can opt out again on ' +
      'the preference page; you can opt them out with a suppression of scope `topic`. The latest choice applies. Addresses ' +
      'are recorded one by one: if the request fails, repeat it.',
    body: optIns,
    bounds: bodyOf(OPT_IN_BYTES_MAX),
    deadlineMs: OPT_IN_DEADLINE_MS,
    etag: false,
    examples: {
      'Two recipients': {
        addresses: ['ann@example.net', 'bob@example.org'],
        evidence: 'Signed up at the shop in Graz on 3 May 2026',
      },
    },
    answer: optInsSchema,
  },
  async (
    { caller: { environment, organizationId }, origin, id, body: { addresses, evidence } },
    { deps: { context } },
  ) => {
    const { topic } = await loadTopic(context, organizationId, id);
    const { topicId } = topic;
    const recorded = await recordOptIns(context, origin, {
      environment,
      topicId,
      evidence,
      addresses: distinct(addresses),
    });
    const now = context.system.now().toISOString();
    const added = recorded.filter((one) => one.added).length;
    return {
      object: 'topic_opt_ins' as const,
      topic_id: topicId,
      added,
      unchanged: recorded.length - added,
      data: recorded.map(({ address, suppression }) => {
        const isKeptBack = (stream: 'transactional' | 'bulk'): boolean =>
          strongestEntry(suppression, { stream, topicId }, now) !== null;
        return { address, suppressed: { transactional: isKeptBack('transactional'), bulk: isKeptBack('bulk') } };
      }),
    };
  },
);

const optInSchema = z
  .strictObject({
    object: z.literal('topic_opt_in'),
    topic_id: z.string(),
    address: z.string().nullable().describe('null: the address was erased.'),
    by: z
      .enum(['recipient', 'sender'])
      .describe('`recipient`: they opted in on a page of this service. `sender`: you recorded it.'),
    evidence: z.string().nullable().describe('Evidence that you sent with the opt-in.'),
    message_id: z.string().nullable().describe('Message whose link the recipient used to opt in.'),
    recipient_id: z.string().nullable(),
    opted_in_at: timeSchema(),
  })
  .meta({ id: 'TopicOptIn' });

const LIST = 'topic-opt-ins';
const listQuery = z.strictObject({
  ...pageParameters,
  address: addressField().optional().describe('Only the opt-in of this address.'),
});

export const listOptInsRoute = endpoint(
  'GET /v1/topics/:id/opt-ins',
  {
    summary: 'List opt-ins to a topic',
    description:
      'Returns the current opt-ins in the key’s environment, the latest first. Recipients who opted out later are not ' +
      'listed. A listed address can still be suppressed for another reason: check it with `GET /v1/suppressions/check`. ' +
      'A key with only `send` or `read` sees only opt-ins made through messages of its own domain.',
    query: listQuery,
    answer: listSchema(optInSchema),
  },
  async ({ caller, id, query: { limit, after: cursor, address } }, { deps }) => {
    const { topicId } = (await loadTopic(deps.context, caller.organizationId, id)).topic;
    const after = decodeCursor(LIST, cursor);
    const suppressionId = await idOfAddress(deps, caller, address);
    await readYourWrites(deps, ['suppressions']);
    const domainId = await visibleDomain(deps, caller);
    const { organizationId, environment } = caller;
    const by = { organizationId, topicId, environment, suppressionId, domainId, limit, after };
    const { items, hasMore, next } = await deps.readModels.topics.optIns(by);
    const found = await loadEvidence(deps.context.contents, items);
    const shown = items.map(({ contentId, source, at }) => ({
      object: 'topic_opt_in' as const,
      topic_id: topicId,
      address: found.get(contentId)?.address ?? null,
      by: source === null ? ('sender' as const) : ('recipient' as const),
      evidence: found.get(contentId)?.text ?? null,
      message_id: source?.messageId ?? null,
      recipient_id: source?.recipientId ?? null,
      opted_in_at: at,
    }));
    return listOf(shown, hasMore, encodeCursor(LIST, next));
  },
);
