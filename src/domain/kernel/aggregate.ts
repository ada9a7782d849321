import type { Position } from '../../lib/event-log/event-log.ts';
import { DomainError } from './errors.ts';
import type { EventContext } from './event.ts';

/** An event of any family. */
interface AnyEvent {
  readonly type: string;
}

/** Derives an aggregate's state from its events. `evolve` handles every event of its family. */
export interface Aggregate<State, E extends AnyEvent> {
  /** Stream category. It must not contain a dash. */
  readonly category: string;
  readonly initial: State;
  /** @param position position of the event, for state ordered across streams; for an append, that of its last event. */
  evolve(state: State, event: E, context: EventContext, position?: Position | null): State;
}

/** Folds the events of one stream into a state. `from` continues an earlier fold. */
export const fold = <State, E extends AnyEvent>(
  aggregate: Aggregate<State, E>,
  events: readonly (AnyEvent & { readonly metadata: EventContext; readonly position: Position })[],
  from: State = aggregate.initial,
): State =>
  // A stream of the aggregate's category only ever holds events of its family: nothing else is appended to it.
  events.reduce((state, event) => aggregate.evolve(state, event as unknown as E, event.metadata, event.position), from);

/** A resource that is either absent or owned by an organization. */
type OwnedState = { readonly status: 'absent' } | { readonly status: string; readonly organizationId: string };

/**
 * Returns the resource if it exists and belongs to the caller.
 * @throws {DomainError} `not_found`, or `other_organization` (spec §7).
 */
export const requireOwn = <State extends OwnedState>(
  state: State,
  organizationId: string,
  noun: string,
): Exclude<State, { status: 'absent' }> => {
  if (state.status === 'absent') throw new DomainError('not_found', `${noun} not found`);
  const existing = state as Exclude<State, { status: 'absent' }>;
  if ((existing as { organizationId: string }).organizationId !== organizationId) {
    throw new DomainError('other_organization', `${noun} belongs to another organization`);
  }
  return existing;
};
