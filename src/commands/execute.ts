import type { Plans } from '../domain/billing/plan.ts';
import { type Aggregate, fold } from '../domain/kernel/aggregate.ts';
import type { Environment } from '../domain/kernel/environment.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import {
  type Append,
  AppendOutcomeUnknown,
  type AppendResult,
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
import type { Contents, MessageContents } from '../domain/ports/contents.ts';
import type { DkimKeys, Secrets } from '../domain/ports/secrets.ts';
import type { WebhookTarget } from '../domain/ports/webhooks.ts';
import { retryBy, StoreUnavailable, type System } from '../lib/async/async.ts';
import type { Resolver } from '../lib/smtp/smtp.ts';
import { readStream } from './foreign-events.ts';
import type { SendingQuotas } from './message/enforce-quota.ts';

/** The ports that commands use, and how this service sends. */
export interface CommandContext {
  readonly store: EventStore;
  readonly contents: Contents;
  readonly secrets: Secrets;
  readonly resolver: Resolver;
  readonly dkimKeys: DkimKeys;
  readonly webhookTarget: WebhookTarget;
  readonly system: System;
  /** Mail is captured on this machine, so domains need no verification. */
  readonly capturing: boolean;
  /** Domain that receives bounces. Absent: bounces are not received, and domains need no return path. */
  readonly bounceDomain?: string | null;
  /** Host that tracking hosts of domains point to; absent: the service has no name, and domains need no tracking host. */
  readonly trackingTarget?: string | null;
  /** Plans of the operator; absent: the built-in ones. */
  readonly plans?: Plans | undefined;
  /** How many readings of contents and exports are put on record, in percent. Absent: all. */
  readonly readingsPercent?: number | undefined;
  /** Counts for hard limits of plans; absent: no limits. */
  readonly quotas?: SendingQuotas | undefined;
}

/** The cause of a command: a principal or a process. It becomes the metadata of the events. */
export interface Origin
  extends Pick<EventContext, 'secret' | 'session' | 'sourceClass' | 'originId' | 'originRoot' | 'operator'> {
  /** `key:<id>`, `auditor:<id>`, `member:<id>`, `worker:<job>`, `recipient:<id>`, `operator` or `service`. */
  readonly actor: string;
  readonly organizationId: string;
  readonly environment: Environment | null;
  readonly requestId: string | null;
  /** Shared by everything that follows from one cause. */
  readonly correlationId: string;
  /** The request or event that caused this directly. */
  readonly causationId: string;
}

interface InternalCause extends Pick<Origin, 'actor' | 'organizationId'> {
  /** Default: null. */
  readonly environment?: Environment | null;
  /** Id of what caused it: correlation and causation id. */
  readonly causeId: string;
}

/** The origin of a command without a request. */
export const internalOrigin = ({ actor, organizationId, environment = null, causeId }: InternalCause): Origin => ({
  actor,
  organizationId,
  environment,
  requestId: null,
  correlationId: causeId,
  causationId: causeId,
});

export const eventContext = (origin: Origin, now: string): EventContext => ({
  $correlationId: origin.correlationId,
  $causationId: origin.causationId,
  occurredAt: now,
  actor: origin.actor,
  organizationId: origin.organizationId,
  environment: origin.environment,
  requestId: origin.requestId,
  ...(origin.secret === undefined ? {} : { secret: origin.secret }),
  ...(origin.session === undefined ? {} : { session: origin.session }),
  ...(origin.sourceClass === undefined ? {} : { sourceClass: origin.sourceClass }),
  ...(origin.originId === undefined ? {} : { originId: origin.originId }),
  ...(origin.originRoot === undefined ? {} : { originRoot: origin.originRoot }),
  ...(origin.operator === undefined ? {} : { operator: origin.operator }),
});

/** Higher hides a loop; lower fails requests when writers of one stream meet. */
const CONFLICT_RETRIES = 5;
/** An append of unknown outcome is repeated with the same ids. Higher keeps the caller waiting, lower gives up on a blip. */
const UNKNOWN_OUTCOME_RETRIES = 3;
const UNKNOWN_OUTCOME_WAIT_MS = 100;
/** Longer finds out later that the log is back, shorter hammers a log that is down. */
const UNKNOWN_OUTCOME_WAIT_MS_MAX = 1_000;

/** A stream's state and the revision it was read at. */
export interface LoadedStream<State> {
  readonly state: State;
  readonly revision: Revision | 'no-stream';
}

/** The precondition of a change. */
export interface Condition {
  /** Revisions the stream may be at when it changes. Absent: any. */
  readonly atRevisions?: readonly (Revision | 'no-stream')[];
}

/** A change of a resource that the caller may have loaded already, to see whether the request may know of it. */
export interface Change<State> extends Condition {
  /** State loaded before; saves the read. Reloaded when it proves stale. */
  readonly known?: LoadedStream<State>;
}

export interface Execution<State, E extends OutboxEvent> extends Change<State> {
  readonly aggregate: Aggregate<State, E>;
  readonly stream: StreamName;
  readonly context: EventContext;
  decide(state: State): readonly E[];
  /**
   * Runs between decision and append, for facts that other streams must record first.
   * @param after the state that the events lead to.
   * @returns false: another writer came first. The events are not appended.
   */
  beforeAppend?(events: readonly E[], after: State): Promise<boolean>;
  /** Personal data that the events refer to. */
  readonly contents?: readonly MessageContents[];
  /** Priority of the append. */
  readonly isUrgent?: boolean;
  /** An append of unknown outcome is repeated until this aborts. Default: some times. */
  readonly patience?: AbortSignal | undefined;
}

export interface CommandResult<State, E extends OutboxEvent> extends LoadedStream<State> {
  /** Events this command appended; none if nothing had to change. */
  readonly events: readonly E[];
  readonly position: Position | null;
}

interface Tools {
  readonly store: EventStore;
  readonly system: System;
}

/**
 * Folds a whole stream. @param known state loaded before: only later events are read.
 * @throws {ForeignEvent} for an event that this service did not write.
 */
export const load = async <State, E extends OutboxEvent>(
  store: EventStore,
  aggregate: Aggregate<State, E>,
  stream: StreamName,
  known?: LoadedStream<State>,
): Promise<LoadedStream<State>> => {
  let loaded: LoadedStream<State> = known ?? { state: aggregate.initial, revision: 'no-stream' };
  for (;;) {
    const from: Revision = loaded.revision === 'no-stream' ? 0 : loaded.revision + 1;
    const events = await readStream(store, stream, { from });
    const last = events.at(-1);
    if (last !== undefined) loaded = { state: fold(aggregate, events, loaded.state), revision: last.revision };
    if (events.length < READ_STREAM_LIMIT) return loaded;
  }
};

/** All events of a stream, oldest first. @throws {ForeignEvent} for an event that this service did not write. */
export const readWholeStream = async (
  store: Pick<EventStore, 'isAuthentic' | 'readStream'>,
  stream: StreamName,
): Promise<readonly RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  for (;;) {
    const page = await readStream(store, stream, { from: events.length });
    events.push(...page);
    if (page.length < READ_STREAM_LIMIT) return events;
  }
};

/** @throws {DomainError} `precondition_failed` if the stream is at another revision. */
export const requireRevision = (
  { atRevisions }: Condition,
  { revision }: Pick<LoadedStream<unknown>, 'revision'>,
): void => {
  if (atRevisions === undefined || atRevisions.some((wanted) => wanted === revision)) return;
  throw new DomainError('precondition_failed', 'the resource has changed: If-Match is not its current ETag');
};

/** Whether the append that met a conflict is itself the other writer: a log that restarts forgets the ids it knew. */
const findOwn = async ({ store }: Tools, { stream, expected, events }: Append): Promise<AppendResult | undefined> => {
  const from = expected === 'no-stream' ? 0 : expected + 1;
  const found = await readStream(store, stream, { from, limit: events.length });
  return found.every(({ id }, index) => id === events[index]?.id) ? found.at(-1) : undefined;
};

/** Appends, or finds that an earlier try did. */
const appendAgain = async (tools: Tools, append: Append): Promise<AppendResult> => {
  try {
    return await tools.store.append(append);
  } catch (error) {
    if (!(error instanceof WrongExpectedRevision)) throw error;
    const own = await findOwn(tools, append);
    if (own === undefined) throw error;
    return own;
  }
};

/** Whether an append may succeed later, or has succeeded already: the log does not answer. */
export const isLogAway = (error: unknown): boolean =>
  error instanceof AppendOutcomeUnknown || error instanceof StoreUnavailable;

const repeatAppend = async (tools: Tools, append: Append, patience: AbortSignal | undefined): Promise<AppendResult> => {
  const { system } = tools;
  await system.sleep(UNKNOWN_OUTCOME_WAIT_MS);
  const policy = {
    system,
    waitMsMin: 2 * UNKNOWN_OUTCOME_WAIT_MS,
    waitMsMax: UNKNOWN_OUTCOME_WAIT_MS_MAX,
    isFinal: (error: unknown, made: number): boolean =>
      !isLogAway(error) || (patience?.aborted ?? made >= UNKNOWN_OUTCOME_RETRIES),
  };
  return retryBy(policy, () => appendAgain(tools, append));
};

/** Repeats an append whose outcome is unknown, with the same ids. If the log stays away, the outcome stays unknown. */
const appendUntilKnown = async (
  tools: Tools,
  append: Append,
  patience: AbortSignal | undefined,
): Promise<AppendResult> => {
  try {
    return await tools.store.append(append);
  } catch (unknown) {
    if (!(unknown instanceof AppendOutcomeUnknown)) throw unknown;
    try {
      return await repeatAppend(tools, append, patience);
    } catch (error) {
      throw isLogAway(error) ? unknown : error;
    }
  }
};

/**
 * Decides at the loaded state and appends there.
 * @returns null: another writer came first, and nothing was appended.
 */
const decideAndAppend = async <State, E extends OutboxEvent>(
  tools: Tools,
  execution: Execution<State, E>,
  loaded: LoadedStream<State>,
): Promise<CommandResult<State, E> | null> => {
  const { aggregate, stream, context, contents, isUrgent = false, patience } = execution;
  requireRevision(execution, loaded);
  const events = execution.decide(loaded.state);
  if (events.length === 0) return { ...loaded, events, position: null };
  const stateAt = (position: Position | null): State =>
    events.reduce((before, event) => aggregate.evolve(before, event, context, position), loaded.state);
  if (execution.beforeAppend !== undefined && !(await execution.beforeAppend(events, stateAt(null)))) return null;
  try {
    const { revision, position } = await appendUntilKnown(
      tools,
      {
        stream,
        expected: loaded.revision,
        events: events.map((event): NewEvent => ({ ...event, id: tools.system.uuid() })),
        context,
        isUrgent,
        ...(contents === undefined ? {} : { contents }),
      },
      patience,
    );
    return { state: stateAt(position), revision, events, position };
  } catch (error) {
    if (error instanceof WrongExpectedRevision) return null;
    throw error;
  }
};

/**
 * Loads, decides and appends at the revision read. On a write conflict it starts again. Every command goes through here.
 * @throws {DomainError} of the decision; `precondition_failed`; `resource_conflict` after too many conflicts.
 */
export const execute = async <State, E extends OutboxEvent>(
  tools: Tools,
  execution: Execution<State, E>,
): Promise<CommandResult<State, E>> => {
  let { known } = execution;
  return retryConflicts(async () => {
    const loaded = known ?? (await load(tools.store, execution.aggregate, execution.stream));
    known = undefined;
    return decideAndAppend(tools, execution, loaded);
  });
};

const conflict = (): DomainError =>
  new DomainError('resource_conflict', 'other requests keep changing this resource: try again');

/**
 * Repeats a change until no other writer interferes.
 * @param attempt resolves to null when another writer came first.
 * @throws {DomainError} `resource_conflict` after too many conflicts.
 */
export const retryConflicts = async <Result>(attempt: () => Promise<Result | null>): Promise<Result> => {
  for (let tries = 0; tries < CONFLICT_RETRIES; tries += 1) {
    const result = await attempt();
    if (result !== null) return result;
  }
  throw conflict();
};

/**
 * Like `execute`, but only at the known revision, for decisions that depend on facts from elsewhere.
 * @returns null: another writer came first. The caller must gather the facts for its decision again.
 */
export const executeOnce = <State, E extends OutboxEvent>(
  context: Pick<CommandContext, 'store' | 'system'>,
  execution: Execution<State, E> & { readonly known: LoadedStream<State> },
): Promise<CommandResult<State, E> | null> => decideAndAppend(context, execution, execution.known);
