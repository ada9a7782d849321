import { type Aggregate, fold } from '../domain/kernel/aggregate.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import {
  type Append,
  type Appended,
  AppendOutcomeUnknown,
  type EventContext,
  type EventStore,
  type NewEvent,
  type Position,
  READ_STREAM_LIMIT,
  type RecordedEvent,
  type Revision,
  type StreamName,
  WrongExpectedRevision,
} from '../domain/kernel/event-store.ts';
import type { OutboxEvent } from '../domain/kernel/events.ts';
import type { MessageContents } from '../domain/ports/contents.ts';
import type { System } from '../lib/async/async.ts';
import type { CommandContext } from './context.ts';

/** Higher hides a loop; lower fails requests when writers of one stream meet. */
const CONFLICT_RETRIES = 5;
/** An append of unknown outcome is repeated with the same ids. Higher keeps the caller waiting, lower gives up on a blip. */
const UNKNOWN_OUTCOME_RETRIES = 3;
const UNKNOWN_OUTCOME_WAIT_MS = 100;

/** A stream's state and the revision it was read at. */
export interface Loaded<State> {
  readonly state: State;
  readonly revision: Revision | 'no-stream';
}

/** The precondition of a change. */
export interface Condition {
  /** Revisions the stream may be at when it changes. Absent: any. */
  readonly atRevisions?: readonly (Revision | 'no-stream')[];
}

export interface Execution<State, E extends OutboxEvent> extends Condition {
  readonly aggregate: Aggregate<State, E>;
  readonly stream: StreamName;
  readonly context: EventContext;
  decide(state: State): readonly E[];
  /** Personal data that the events refer to. */
  readonly contents?: readonly MessageContents[];
  /** Priority of the append. */
  readonly isUrgent?: boolean;
  /** State loaded before; saves the read. Reloaded when it proves stale. */
  readonly known?: Loaded<State>;
}

export interface Executed<State, E extends OutboxEvent> extends Loaded<State> {
  /** Events this command appended; none if nothing had to change. */
  readonly events: readonly E[];
  readonly position: Position | null;
}

interface Tools {
  readonly store: EventStore;
  readonly system: System;
}

/** Folds a whole stream. @param known state loaded before: only later events are read. */
export const load = async <State, E extends OutboxEvent>(
  store: EventStore,
  aggregate: Aggregate<State, E>,
  stream: StreamName,
  known?: Loaded<State>,
): Promise<Loaded<State>> => {
  let loaded: Loaded<State> = known ?? { state: aggregate.initial, revision: 'no-stream' };
  for (;;) {
    const from: Revision = loaded.revision === 'no-stream' ? 0 : loaded.revision + 1;
    const events = await store.readStream(stream, { from });
    const last = events.at(-1);
    if (last !== undefined) loaded = { state: fold(aggregate, events, loaded.state), revision: last.revision };
    if (events.length < READ_STREAM_LIMIT) return loaded;
  }
};

/** All events of a stream, oldest first. */
export const readWholeStream = async (
  store: Pick<EventStore, 'readStream'>,
  stream: StreamName,
): Promise<readonly RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  for (;;) {
    const page = await store.readStream(stream, { from: events.length });
    events.push(...page);
    if (page.length < READ_STREAM_LIMIT) return events;
  }
};

/** @throws {DomainError} `precondition_failed` if the stream is at another revision. */
export const requireRevision = ({ atRevisions }: Condition, { revision }: Pick<Loaded<unknown>, 'revision'>): void => {
  if (atRevisions === undefined || atRevisions.some((wanted) => wanted === revision)) return;
  throw new DomainError('precondition_failed', 'the resource has changed: If-Match does not name its current ETag');
};

const appendUntilKnown = async ({ store, system }: Tools, append: Append): Promise<Appended> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await store.append(append);
    } catch (error) {
      if (!(error instanceof AppendOutcomeUnknown) || attempt > UNKNOWN_OUTCOME_RETRIES) throw error;
      await system.sleep(UNKNOWN_OUTCOME_WAIT_MS * attempt);
    }
  }
};

const once = async <State, E extends OutboxEvent>(
  tools: Tools,
  execution: Execution<State, E>,
  loaded: Loaded<State>,
): Promise<Executed<State, E>> => {
  const { aggregate, stream, context, contents, isUrgent = false } = execution;
  requireRevision(execution, loaded);
  const events = execution.decide(loaded.state);
  if (events.length === 0) return { ...loaded, events, position: null };
  const { revision, position } = await appendUntilKnown(tools, {
    stream,
    expected: loaded.revision,
    events: events.map((event): NewEvent => ({ ...event, id: tools.system.uuid() })),
    context,
    isUrgent,
    ...(contents === undefined ? {} : { contents }),
  });
  const state = events.reduce((before, event) => aggregate.evolve(before, event, context, position), loaded.state);
  return { state, revision, events, position };
};

/**
 * Loads, decides and appends at the revision read. On a write conflict it starts again. Every command goes through here.
 * @throws {DomainError} of the decision; `precondition_failed`; `resource_conflict` after too many conflicts.
 */
export const execute = async <State, E extends OutboxEvent>(
  tools: Tools,
  execution: Execution<State, E>,
): Promise<Executed<State, E>> => {
  let loaded = execution.known ?? (await load(tools.store, execution.aggregate, execution.stream));
  for (let attempt = 1; attempt <= CONFLICT_RETRIES; attempt += 1) {
    try {
      return await once(tools, execution, loaded);
    } catch (error) {
      if (!(error instanceof WrongExpectedRevision)) throw error;
      loaded = await load(tools.store, execution.aggregate, execution.stream);
    }
  }
  throw conflict();
};

const conflict = (): DomainError =>
  new DomainError('resource_conflict', 'other requests keep changing this resource: try again');

/**
 * Repeats a change that depends on several streams until no other writer interferes.
 * @param once resolves to null when another writer came first.
 * @throws {DomainError} `resource_conflict` after too many conflicts.
 */
export const retryConflicts = async <Result>(once: () => Promise<Result | null>): Promise<Result> => {
  for (let attempt = 1; attempt <= CONFLICT_RETRIES; attempt += 1) {
    const result = await once();
    if (result !== null) return result;
  }
  throw conflict();
};

/**
 * Like `execute`, but only at the known revision.
 * @returns null when the stream has changed since: the caller must gather the facts for its decision again.
 */
export const executeOnce = async <State, E extends OutboxEvent>(
  context: Pick<CommandContext, 'store' | 'system'>,
  execution: Omit<Execution<State, E>, 'atRevisions'> & { readonly known: Loaded<State> },
): Promise<Executed<State, E> | null> => {
  const { revision } = execution.known;
  try {
    return await execute(context, { ...execution, atRevisions: [revision] });
  } catch (error) {
    if (error instanceof DomainError && error.code === 'precondition_failed') return null;
    throw error;
  }
};
