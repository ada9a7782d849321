import type { Aggregate } from '../domain/aggregate.ts';
import type { OutboxEvent } from '../domain/events.ts';
import { idOf, type RecordedEvent } from '../domain/ports/event-store.ts';
import type { Database } from './database.ts';

/** Read models of small things whose rows are simply the state of their aggregates. */

/** States by id, as they are after the events so far. */
export type Folded<State> = Map<string, State>;

/** The states, as stored, of all streams that these events are of. @param select rows `{id, state}` where id is any of $1. */
export const storedStates = async <State>(
  db: Database,
  select: string,
  events: readonly RecordedEvent[],
): Promise<Folded<State>> => {
  const ids = [...new Set(events.map(({ stream }) => idOf(stream)))];
  const { rows } = await db.query<{ id: string; state: State }>(select, [ids]);
  return new Map(rows.map(({ id, state }) => [id, state]));
};

/** Handler for every event of an aggregate's family: its own fold. */
export const foldInto =
  <State, E extends OutboxEvent>(aggregate: Aggregate<State, E>) =>
  (states: Folded<State>, event: RecordedEvent<E>): void => {
    const id = idOf(event.stream);
    states.set(id, aggregate.evolve(states.get(id) ?? aggregate.initial, event, event.metadata));
  };

type Existing<State> = Exclude<State, { readonly status: 'absent' }>;

export const existing = <State extends { readonly status: string }>(
  states: Folded<State>,
): readonly Existing<State>[] =>
  [...states.values()].filter((state): state is Existing<State> => state.status !== 'absent');
