import type { Aggregate } from '../decider.ts';
import type { WarmUpDayEvent } from '../events.ts';
import type { StreamName } from '../ports/event-store.ts';

/** What is taken of a day's caps, by destination. */
export interface WarmUpDay {
  readonly taken: ReadonlyMap<string, number>;
}

/** @param day `YYYY-MM-DD`, UTC. */
export const warmUpDayStream = (domainId: string, day: string): StreamName => `warmUpDay-${domainId}.${day}`;

const add = (before: ReadonlyMap<string, number>, taken: readonly { operator: string; places: number }[]) => {
  const after = new Map(before);
  for (const { operator, places } of taken) after.set(operator, (after.get(operator) ?? 0) + places);
  return after;
};

export const warmUpDay: Aggregate<WarmUpDay, WarmUpDayEvent> = {
  category: 'warmUpDay',
  initial: { taken: new Map() },
  evolve: (state, { type, data }) => {
    switch (type) {
      case 'WarmUpPlacesTaken':
        return { taken: add(state.taken, data.taken) };
      default:
        return type satisfies never;
    }
  },
};
