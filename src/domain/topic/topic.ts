/** A topic is a kind of mail that recipients can choose or refuse separately. */
import { z } from 'zod';
import { type Aggregate, requireOwn } from '../kernel/aggregate.ts';
import { DomainError } from '../kernel/errors.ts';
import type { EventsOf } from '../kernel/event.ts';
import { CATEGORIES } from '../kernel/streams.ts';

/** `in`: sent to everyone who has not opted out. `out`: sent only to those who opted in. */
export const TOPIC_DEFAULTS = ['in', 'out'] as const;
type TopicDefault = (typeof TOPIC_DEFAULTS)[number];

const shown = { name: z.string(), description: z.string().nullable() };

export const topicEvents = {
  TopicCreated: z.object({
    topicId: z.string(),
    ...shown,
    /** Permanent, because recipients made their choices under it. */
    default: z.enum(TOPIC_DEFAULTS),
    /** The only domain whose mail can have this topic; null for all domains of the organization. */
    domainId: z.string().nullable(),
  }),
  TopicChanged: z.object({ topicId: z.string(), ...shown }),
  /** It accepts no more sends and choices. Recorded choices are kept. */
  TopicDeleted: z.object({ topicId: z.string() }),
};
export type TopicEvent = EventsOf<typeof topicEvents>;

export interface ExistingTopic {
  readonly status: 'active' | 'deleted';
  readonly topicId: string;
  readonly organizationId: string;
  readonly name: string;
  readonly description: string | null;
  readonly default: TopicDefault;
  /** Null if mail of every domain of the organization can have this topic. */
  readonly domainId: string | null;
  readonly createdAt: string;
}

export type Topic = { readonly status: 'absent' } | ExistingTopic;

export const topic: Aggregate<Topic, TopicEvent> = {
  category: CATEGORIES.topic,
  initial: { status: 'absent' },
  evolve: (state, event, { organizationId, occurredAt }) => {
    if (event.type === 'TopicCreated') {
      return { status: 'active', ...event.data, organizationId, createdAt: occurredAt };
    }
    if (state.status === 'absent') return state;
    switch (event.type) {
      case 'TopicChanged':
        return { ...state, name: event.data.name, description: event.data.description };
      case 'TopicDeleted':
        return { ...state, status: 'deleted' };
      default:
        return event satisfies never;
    }
  },
};

/**
 * Returns the topic if it belongs to the caller and was not deleted.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const requireTopic = (state: Topic, organizationId: string): ExistingTopic => {
  const existing = requireOwn(state, organizationId, 'topic');
  if (existing.status === 'deleted') throw new DomainError('not_found', 'topic not found');
  return existing;
};

const notUsable = (problem: string): DomainError =>
  new DomainError('topic_not_usable', problem, { details: { topic: [problem] } });

/**
 * Returns the topic if mail of the domain can have it.
 * @throws {DomainError} `other_organization`; `topic_not_usable` if it does not exist or belongs to another domain.
 */
export const requireTopicOf = (
  state: Topic,
  { organizationId, domainId }: { readonly organizationId: string; readonly domainId: string },
): ExistingTopic => {
  if (state.status === 'absent' || state.status === 'deleted') throw notUsable('topic does not exist');
  const existing = requireOwn(state, organizationId, 'topic');
  if (existing.domainId !== null && existing.domainId !== domainId) throw notUsable('topic belongs to another domain');
  return existing;
};

export type CreateTopic = Extract<TopicEvent, { type: 'TopicCreated' }>['data'];

export const createTopic = (state: Topic, command: CreateTopic): readonly TopicEvent[] => {
  if (state.status !== 'absent') throw new DomainError('resource_conflict', 'topic exists already');
  return [{ type: 'TopicCreated', data: command }];
};

interface ChangeTopic {
  readonly organizationId: string;
  /** Absent: unchanged. */
  readonly name?: string | undefined;
  readonly description?: string | null | undefined;
}

/** @throws {DomainError} `not_found`, `other_organization`. */
export const changeTopic = (
  state: Topic,
  { organizationId, name, description }: ChangeTopic,
): readonly TopicEvent[] => {
  const { topicId, ...before } = requireTopic(state, organizationId);
  const after = {
    name: name ?? before.name,
    description: description === undefined ? before.description : description,
  };
  const isSame = after.name === before.name && after.description === before.description;
  return isSame ? [] : [{ type: 'TopicChanged', data: { topicId, ...after } }];
};

/** @throws {DomainError} `not_found`, `other_organization`. */
export const deleteTopic = (state: Topic, organizationId: string): readonly TopicEvent[] => [
  { type: 'TopicDeleted', data: { topicId: requireTopic(state, organizationId).topicId } },
];
