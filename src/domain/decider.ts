import type { OutboxEvent } from './events.ts';

/** How an aggregate's state follows from its events. `evolve` knows every event of its family. */
export interface Aggregate<State, E extends OutboxEvent> {
  /** Stream category: no dash. */
  readonly category: string;
  readonly initial: State;
  evolve(state: State, event: E): State;
}
