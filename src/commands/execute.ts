import { type Aggregate, fold } from '../domain/aggregate.ts';
import { DomainError } from '../domain/domain-error.ts';
import type { OutboxEvent } from '../domain/events.ts';
import type { MessageContents } from '../domain/ports/contents.ts';
import {
  type Append,
  type Appended,
  AppendOutcomeUnknown,
  type EventContext,
  type EventStore,
  type NewEvent,
  type Position,
  READ_STREAM_LIMIT,
  type Revision,
  type StreamName,
  WrongExpectedRevision,
} from '../domain/ports/event-store.ts';
import type { System } from '../domain/ports/system.ts';
import type { CommandContext } from './context.ts';

/** Concurrent writers of one stream are few: more tries than this and something loops. */
const CONFLICT_RETRIES = 5;
/** An unknown outcome is asked again with the same ids; more tries keep the caller waiting, fewer give up on a blip. */
const UNKNOWN_OUTCOME_RETRIES = 3;
const UNKNOWN_OUTCOME_WAIT_MS = 100;

/** A stream's state and how far it was read. */
export interface Loaded<State> {
  readonly state: State;
  readonly revision: Revision | 'no-stream';
}

/** What a change is made conditional on. */
export interface Condition {
  /** The stream must be at one of these revisions when it is changed. Absent: at any. */
  readonly atRevisions?: readonly Revision[];
}

export interface Execution<State, E extends OutboxEvent> extends Condition {
  readonly aggregate: Aggregate<State, E>;
  readonly stream: StreamName;
  readonly context: EventContext;
  decide(state: State): readonly E[];
  /** Personal data that the events name. */
  readonly contents?: readonly MessageContents[];
  /** Of its append. */
  readonly isUrgent?: boolean;
  /** What is known of the stream already; saves the read. If it proves stale, the stream is read after all. */
  readonly known?: Loaded<State>;
}

export interface Executed<State, E extends OutboxEvent> extends Loaded<State> {
  /** What this command appended; empty when there was nothing to do. */
  readonly events: readonly E[];
  readonly position: Position | null;
}

interface Tools {
  readonly store: EventStore;
  readonly system: System;
}

/** All of a stream, folded. @param known what was read of it before: only what came since is read. */
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

/** @throws {DomainError} `precondition_failed` unless the stream is where the change was meant for. */
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
  const state = events.reduce((before, event) => aggregate.evolve(before, event, context), loaded.state);
  return { state, revision, events, position };
};

/**
 * Read, fold, decide, append at the revision read: the only place that does this. On a write conflict it starts again.
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
  throw new DomainError('resource_conflict', 'others change this resource at the same moment');
};

/**
 * As `execute`, but at the very revision that is known.
 * @returns null when somebody else has written there meanwhile: what the decision went by has to be gathered again.
 */
export const executeOnce = async <State, E extends OutboxEvent>(
  context: Pick<CommandContext, 'store' | 'system'>,
  execution: Omit<Execution<State, E>, 'atRevisions'> & { readonly known: Loaded<State> },
): Promise<Executed<State, E> | null> => {
  const { revision } = execution.known;
  try {
    return await execute(context, { ...execution, atRevisions: revision === 'no-stream' ? [] : [revision] });
  } catch (error) {
    if (error instanceof DomainError && error.code === 'precondition_failed') return null;
    throw error;
  }
};
