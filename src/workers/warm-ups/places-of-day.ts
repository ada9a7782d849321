import { atMost, createBatcher, fulfilled } from '../../async/batcher.ts';
import type { Loaded } from '../../commands/execute.ts';
import { takePlaces } from '../../commands/warm-up.ts';
import type { EventStore } from '../../domain/ports/event-store.ts';
import type { System } from '../../domain/ports/system.ts';
import type { Places, Want, WarmUpDay } from '../../domain/warm-up/daily-quota.ts';

/** What a process takes of one day's caps of a domain. */
export interface PlacesOfDay {
  readonly day: string;
  /**
   * @returns null: the message may leave; or the destination that has had its share.
   * @throws {DomainError} `resource_conflict`: others took places at the same moment.
   */
  take(want: Want, cap: number): Promise<string | null>;
}

export interface PlacesOfDayOptions {
  readonly store: EventStore;
  readonly system: System;
  readonly organizationId: string;
  readonly domainId: string;
  readonly day: string;
}

/** Messages judged by one append; as many as a process has in hand at most, so that none waits for a second. */
const WANTS_MAX = 1_000;

interface Asked {
  readonly want: Want;
  readonly cap: number;
}

/** The log is the count: what this process remembers of it saves reads, and what it has in hand saves appends. */
export const createPlacesOfDay = ({ store, system, ...of }: PlacesOfDayOptions): PlacesOfDay => {
  let known: Loaded<WarmUpDay> | undefined;
  let inHand: Places = new Map();

  const batcher = createBatcher<Asked, string | null>({
    name: "the warm-up's day",
    inFlightMax: 1,
    admission: atMost(WANTS_MAX),
    run: async (asked) => {
      const wants = asked.map(({ want }) => want);
      const cap = asked.at(-1)?.cap ?? 0; // a plan that was just begun anew has another
      const taken = await takePlaces({ store, system }, { ...of, cap, wants, inHand, known });
      known = taken.day;
      inHand = taken.inHand;
      return fulfilled(asked.map((_, index) => taken.full[index] ?? null));
    },
  });

  return {
    day: of.day,
    take: (want, cap) => batcher.add({ want, cap }),
  };
};
