import { DomainError } from './domain-error.ts';
import type { OutboxEvent } from './events.ts';
import type { EventContext, Position, RecordedEvent } from './ports/event-store.ts';

/** How an aggregate's state follows from its events. `evolve` knows every event of its family. */
export interface Aggregate<State, E extends OutboxEvent> {
  /** Stream category: no dash. */
  readonly category: string;
  readonly initial: State;
  /** @param position of the event, for what is ordered across streams; of an append, that of its last event. */
  evolve(state: State, event: E, context: EventContext, position?: Position | null): State;
}

/** State after these events of one stream; `from` continues an earlier fold. */
export const fold = <State, E extends OutboxEvent>(
  aggregate: Aggregate<State, E>,
  events: readonly RecordedEvent[],
  from: State = aggregate.initial,
): State =>
  // A stream of the aggregate's category holds events of its family only: nothing else is ever appended to it.
  events.reduce((state, event) => aggregate.evolve(state, event as unknown as E, event.metadata, event.position), from);

/** What a decision knows of a resource: absent, or somebody's. */
type Owned = { readonly status: 'absent' } | { readonly status: string; readonly organizationId: string };

/**
 * The resource, if it exists and is the caller's.
 * @throws {DomainError} `not_found`, or `other_organization` (spec §7).
 */
export const requireOwn = <State extends Owned>(
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
