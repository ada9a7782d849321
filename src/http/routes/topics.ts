import { z } from 'zod';
import { changeTopic, createTopic, deleteTopic, loadTopic } from '../../commands/topic.ts';
import type { Caller } from '../../domain/api-key/key-authority.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { topicStream } from '../../domain/kernel/streams.ts';
import { TOPIC_DEFAULTS } from '../../domain/topic/events.ts';
import { type ExistingTopic, topic } from '../../domain/topic/topic.ts';
import { resourceEndpoint, statesOf } from '../as-of.ts';
import { ifMatch, setRevision } from '../consistency.ts';
import { defineEndpoint, endpoint, type RouteContext } from '../endpoint.ts';
import { listEndpoint } from '../lists.ts';
import { timeSchema } from '../schemas/envelope.ts';
import { shownLine } from '../validation/fields.ts';
import { loadDomain } from './domains.ts';

export const topicSchema = z
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

const name = shownLine(NAME_CHARACTERS_MAX).describe('Recipients see it when they choose topics.');
const description = shownLine(DESCRIPTION_CHARACTERS_MAX).nullable();

const body = z.strictObject({
  name,
  description: description.default(null).describe('A sentence for recipients.'),
  default: z
    .enum(TOPIC_DEFAULTS)
    .describe(
      '`in`: recipients get it unless they opt out; `out`: only recipients who opt in get it. It cannot be changed.',
    ),
  domain_id: z
    .string()
    .nullable()
    .default(null)
    .describe('Only mail from this domain can use the topic; null: mail from any domain of the organization.'),
});

export const createTopicRoute = (route: RouteContext): void => {
  const { deps } = route;

  /** Read from the read model: a few topics over the limit, created at the same moment, do no harm. */
  const isFull = async ({ organizationId }: Caller): Promise<boolean> => {
    const by = { organizationId, domainId: null, limit: TOPICS_MAX, after: null };
    const counted = await deps.readModels.topics.list(by).catch(() => null);
    return counted !== null && counted.items.length >= TOPICS_MAX;
  };

  defineEndpoint(
    route,
    'POST /v1/topics',
    {
      summary: 'Make a topic that recipients can choose or refuse',
      description: `Use its id in the field \`topic\` of a send. An organization has at most ${TOPICS_MAX} topics, in both environments together.`,
      body,
      examples: {
        'Recipients get it unless they opt out': {
          name: 'Offers',
          description: 'What is new in the shop, once a week.',
          default: 'in',
        },
        'Only recipients who opt in get it': { name: 'Event invitations', default: 'out' },
      },
      answer: topicSchema,
    },
    async ({ caller, origin, body: { domain_id: domainId, ...asked }, reply }) => {
      if (domainId !== null) await loadDomain(deps, caller, domainId);
      if (await isFull(caller)) {
        throw new DomainError('too_many_topics', `an organization has at most ${TOPICS_MAX} topics`);
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
  { summary: 'List topics, newest first', of: 'topics', item: topicSchema, takesAt: true },
  async (by, { organizationId }, { deps }) => {
    const page = await deps.readModels.topics.list({ organizationId, domainId: null, ...by });
    const streams = page.items.map(({ topicId }) => topicStream(topicId));
    const topics = by.withDeleted ? await statesOf(deps.context, topic, streams) : page.items;
    return { ...page, items: topics.map(serializeTopic) };
  },
);

export const getTopicRoute = resourceEndpoint(
  'GET /v1/topics/:id',
  { summary: 'Read a topic', answer: topicSchema },
  async ({ caller, id, reply }, { deps: { context } }) => {
    const { topic, revision } = await loadTopic(context, caller.organizationId, id);
    setRevision(reply, revision);
    return serializeTopic(topic);
  },
);

const changes = z.strictObject({
  name: name.optional(),
  description: description.optional().describe('A sentence for recipients; null removes it.'),
});

export const updateTopicRoute = endpoint(
  'PATCH /v1/topics/:id',
  {
    summary: 'Change the name or the description of a topic',
    description: 'Absent fields stay unchanged.',
    body: changes,
    examples: { 'Another name': { name: 'Weekly offers' } },
    answer: topicSchema,
  },
  async ({ caller, origin, id, body: asked, request, reply }, { deps: { context } }) => {
    await loadTopic(context, caller.organizationId, id);
    const command = { topicId: id, name: asked.name, description: asked.description, ...ifMatch(request) };
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
      'Messages can no longer be sent about it, and recipients no longer see it. Messages accepted before are still ' +
      'sent. The choices of recipients stay on record.',
  },
  async ({ caller, origin, id, request }, { deps: { context } }) => {
    await loadTopic(context, caller.organizationId, id);
    await deleteTopic(context, origin, { topicId: id, ...ifMatch(request) });
  },
);
