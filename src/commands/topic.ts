import { DomainError } from '../domain/kernel/errors.ts';
import { formatId, ID_BYTES, isId } from '../domain/kernel/ids.ts';
import { topicStream } from '../domain/kernel/streams.ts';
import {
  type CreateTopic,
  changeTopic as decideChangeTopic,
  createTopic as decideCreateTopic,
  deleteTopic as decideDeleteTopic,
  type ExistingTopic,
  requireTopic,
  requireTopicOf,
  type Topic,
  type TopicEvent,
  topic,
} from '../domain/topic/topic.ts';
import {
  type Change,
  type CommandContext,
  eventContext,
  execute,
  type LoadedStream,
  load,
  type Origin,
} from './execute.ts';

type Context = Pick<CommandContext, 'store' | 'system'>;

export interface TopicAtRevision {
  readonly topic: ExistingTopic;
  readonly revision: LoadedStream<Topic>['revision'];
}

interface TopicChange extends Change<Topic> {
  readonly topicId: string;
  decide(state: Topic): readonly TopicEvent[];
}

/** Topics belong to both environments. */
const change = (context: Context, origin: Origin, { topicId, ...how }: TopicChange): Promise<LoadedStream<Topic>> =>
  execute(context, {
    aggregate: topic,
    stream: topicStream(topicId),
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
    ...how,
  });

export const createTopic = async (
  context: Context,
  origin: Origin,
  command: Omit<CreateTopic, 'topicId'>,
): Promise<TopicAtRevision> => {
  const topicId = formatId('top', context.system.randomBytes(ID_BYTES));
  const { state, revision } = await change(context, origin, {
    topicId,
    decide: (before) => decideCreateTopic(before, { ...command, topicId }),
  });
  return { topic: requireTopic(state, origin.organizationId), revision };
};

/** @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`, `resource_conflict`. */
export const changeTopic = async (
  context: Context,
  origin: Origin,
  {
    topicId,
    name,
    description,
    ...condition
  }: Change<Topic> & {
    readonly topicId: string;
    readonly name: string | undefined;
    readonly description: string | null | undefined;
  },
): Promise<TopicAtRevision> => {
  const { organizationId } = origin;
  const { state, revision } = await change(context, origin, {
    topicId,
    decide: (before) => decideChangeTopic(before, { organizationId, name, description }),
    ...condition,
  });
  return { topic: requireTopic(state, organizationId), revision };
};

/** @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`, `resource_conflict`. */
export const deleteTopic = async (
  context: Context,
  origin: Origin,
  { topicId, ...condition }: Change<Topic> & { readonly topicId: string },
): Promise<void> => {
  await change(context, origin, {
    topicId,
    decide: (state) => decideDeleteTopic(state, origin.organizationId),
    ...condition,
  });
};

/** @throws {DomainError} `not_found`, `other_organization`. */
export const loadTopic = async (
  { store }: Pick<CommandContext, 'store'>,
  organizationId: string,
  topicId: string,
): Promise<TopicAtRevision & { readonly known: LoadedStream<Topic> }> => {
  if (!isId('top', topicId)) throw new DomainError('not_found', 'topic not found');
  const known = await load(store, topic, topicStream(topicId));
  return { topic: requireTopic(known.state, organizationId), revision: known.revision, known };
};

/** A topic that a message of the domain can be about. @throws {DomainError} `topic_not_usable`, `other_organization`. */
export const usableTopic = async (
  { store }: Pick<CommandContext, 'store'>,
  sender: { readonly organizationId: string; readonly domainId: string },
  topicId: string,
): Promise<ExistingTopic> => {
  const state = isId('top', topicId) ? (await load(store, topic, topicStream(topicId))).state : topic.initial;
  return requireTopicOf(state, sender);
};
