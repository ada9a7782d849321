import type { Loaded } from '../../commands/execute.ts';
import { reserveDailyQuota } from '../../commands/pacing.ts';
import type { EventStore } from '../../domain/kernel/event-store.ts';
import type { QuotaRequest, RecipientCounts, DailyQuota as UsedQuota } from '../../domain/warm-up/warm-up.ts';
import { atMost, createBatcher, fulfilled, type System } from '../../lib/async/async.ts';

/** This process's share of the daily quota of a domain in warm-up. The log is the count: what is kept here saves reads. */
export interface DailyQuota {
  readonly day: string;
  /**
   * Reserves quota for a message's recipients.
   * @returns the mailbox provider whose quota is used up; null: granted.
   * @throws {DomainError} `resource_conflict`: other processes reserved at the same moment.
   */
  reserve(request: QuotaRequest, cap: number): Promise<string | null>;
}

export interface DailyQuotaOptions {
  readonly store: EventStore;
  readonly system: System;
  readonly organizationId: string;
  readonly domainId: string;
  readonly day: string;
}

/** Messages of one append; as many as a process sends at a time, so that none waits for a second append. */
const REQUESTS_MAX = 1_000;

interface Reservation {
  readonly request: QuotaRequest;
  readonly cap: number;
}

export const createDailyQuota = ({ store, system, ...of }: DailyQuotaOptions): DailyQuota => {
  let known: Loaded<UsedQuota> | undefined;
  let unused: RecipientCounts = new Map();

  const batcher = createBatcher<Reservation, string | null>({
    name: "the warm-up's day",
    inFlightMax: 1,
    admission: atMost(REQUESTS_MAX),
    run: async (asked) => {
      const requests = asked.map(({ request }) => request);
      const cap = asked.at(-1)?.cap ?? 0; // a plan that was just replaced has another
      const reserved = await reserveDailyQuota({ store, system }, { ...of, cap, requests, unused, known });
      known = reserved.day;
      unused = reserved.unused;
      return fulfilled(asked.map((_, index) => reserved.refusedBy[index] ?? null));
    },
  });

  return {
    day: of.day,
    reserve: (request, cap) => batcher.add({ request, cap }),
  };
};
