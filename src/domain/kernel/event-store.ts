import type {
  Append as LogAppend,
  FollowedPage as LogFollowedPage,
  NewEvent as LogNewEvent,
  Page as LogPage,
  RecordedEvent as LogRecordedEvent,
  EventStore as LogStore,
} from '../../lib/event-log/event-log.ts';
import type { LogFollower as Follower } from '../../lib/event-log/follower.ts';
import type { MessageContents } from '../ports/contents.ts';
import type { EventContext } from './event.ts';
import type { OutboxEvent } from './events.ts';

/** PORT: the log (`lib/event-log`), with the events, contexts and contents of this service. */

export {
  AppendOutcomeUnknown,
  type AppendResult,
  categoryOf,
  EventsDetached,
  type Filter,
  type IsAuthentic,
  idOf,
  LOG_START,
  type LogProofs,
  LogReplaced,
  type Position,
  PositionNotInLog,
  passes,
  READ_STREAM_LIMIT,
  type ReadAllOptions,
  type ReadStreamOptions,
  type Revision,
  readFamilies,
  readPages,
  type Seals,
  type StoredAppend,
  type StoredEvent,
  type StreamName,
  WrongExpectedRevision,
} from '../../lib/event-log/event-log.ts';
export type { EventContext, EventMetadata, OperatorHost } from './event.ts';

export type NewEvent<E extends OutboxEvent = OutboxEvent> = LogNewEvent<E>;
export type RecordedEvent<E extends OutboxEvent = OutboxEvent> = LogRecordedEvent<E, EventContext>;
export type Append = LogAppend<OutboxEvent, EventContext, MessageContents>;
export type Page = LogPage<OutboxEvent, EventContext>;
export type FollowedPage = LogFollowedPage<OutboxEvent, EventContext>;
export type EventStore = LogStore<OutboxEvent, EventContext, MessageContents>;
export type LogFollower = Follower<OutboxEvent, EventContext>;
