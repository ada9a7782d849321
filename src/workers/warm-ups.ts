import type { LoadedStream } from '../commands/execute.ts';
import { reserveDailyQuota } from '../commands/warm-up.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import type { EventStore, RecordedEvent } from '../domain/kernel/event-store.ts';
import { warmUpStream } from '../domain/kernel/streams.ts';
import type { Hold } from '../domain/message/attempt.ts';
import type { ExistingMessage, Recipient } from '../domain/message/message.ts';
import { type SourceWarmUps, sourceDay } from '../domain/message/source-pools.ts';
import type { SourceQuotas } from '../domain/ports/mail.ts';
import {
  dayAfter,
  dayOf,
  domainOfWarmUp,
  nextSlot,
  type Plan,
  type PlannedDay,
  plannedDay,
  type QuotaOwner,
  type QuotaRequest,
  type RecipientCounts,
  startOf,
  type DailyQuota as UsedQuota,
  type WarmUp,
  type WarmUpEvent,
  warmUp,
} from '../domain/warm-up/warm-up.ts';
import { atMost, createBatcher, fulfilled, random, type System } from '../lib/async/async.ts';
import type { Destinations } from './delivery/due.ts';

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

interface DailyQuotaOptions {
  readonly store: EventStore;
  readonly system: System;
  /** Empty for an IP address, which all organizations share. */
  readonly organizationId: string;
  readonly owner: QuotaOwner;
  readonly day: string;
}

/** Messages of one append; as many as a process sends at a time, so that none waits for a second append. */
const REQUESTS_MAX = 1_000;

interface Reservation {
  readonly request: QuotaRequest;
  readonly cap: number;
}

export const createDailyQuota = ({ store, system, ...of }: DailyQuotaOptions): DailyQuota => {
  let known: LoadedStream<UsedQuota> | undefined;
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

/** In-memory projection of warm-ups: which mail has to wait because the daily quota of its mailbox provider is used up. */
export interface WarmUpHolds {
  /** Applies an event of a warm-up. */
  apply(event: RecordedEvent): void;
  /**
   * Whether this warm-up still holds its mail: true of a plan that was not ended, unless it replaced another and may have
   * quota for mail that waits. False of any other holder.
   */
  keeps(holder: string): boolean;
  /** All mail of this holder was offered quota once. */
  offered(holder: string): void;
  /**
   * null: it may leave, and is counted. All mail is counted because receivers count it; only bulk mail has to wait: a
   * password reset must not wait for tomorrow.
   * @param recipients of this attempt.
   * @throws {DomainError} `resource_conflict`: try again.
   */
  of(message: ExistingMessage, recipients: readonly Recipient[]): Promise<Hold | null> | null;
}

interface WarmUpHoldsOptions {
  readonly store: EventStore;
  readonly system: System;
  /** Absent: one server takes everything, and every recipient's domain is a destination of its own. */
  readonly destinations?: Destinations | undefined;
}

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;

/** Whether held mail is offered quota again, because its plan replaced one that had less, perhaps. */
interface Offers {
  areOpen(): boolean;
  /** Mail that was held has got quota. */
  taken(): void;
  /** All mail that waits was offered quota. */
  passed(): void;
}

/**
 * Rounds in which no held mail got quota, until the day's quota is considered used up: offered mail is tried some moments
 * later, perhaps by another process. Higher: useless offers. Lower: quota stays unused until the next day.
 */
const IN_VAIN_MAX = 10;

/** Anew each day: the plan before gave each held mail its slot. */
const createOffers = ({ now }: Pick<System, 'now'>): Offers => {
  let day = '';
  let inVain = 0;
  return {
    areOpen: () => {
      const today = dayOf(now());
      if (today !== day) inVain = 0;
      day = today;
      return inVain < IN_VAIN_MAX;
    },
    taken: () => {
      inVain = 0;
    },
    passed: () => {
      inVain += 1;
    },
  };
};

interface Today extends PlannedDay {
  readonly domainId: string;
  readonly plan: Plan;
  readonly now: Date;
  readonly quota: DailyQuota;
  /** Recipients that this process has held today, by mailbox provider. */
  readonly waiting: Map<string, number>;
}

interface WarmUpState {
  plan: Plan | null;
  /** Absent: no plan has replaced another. */
  offers?: Offers;
  today: Pick<Today, 'quota' | 'waiting'> | null;
}

/** A recipient is counted once a day: an attempt of today has counted it. */
const isCounted = ({ attempts, updatedAt }: Recipient, day: string): boolean =>
  attempts > 0 && updatedAt.startsWith(day);

/** A recipient keeps the slot that it has; a plan that replaced another may have an earlier one. */
const stillHeld = (recipients: readonly Recipient[], { domainId, now }: Today): Hold | null => {
  const heldBy = warmUpStream(domainId);
  const [held] = recipients.map((recipient) => recipient.held);
  if (held?.heldBy !== heldBy || held.until <= now.toISOString()) return null;
  const waitSeconds = (Date.parse(held.until) - now.getTime()) / SECOND_MS;
  return { reason: 'warm_up', heldBy, waitSeconds, outsideTimeToLive: true };
};

/** On a write conflict, mail exempt from the cap is sent anyway. */
const reserve = async (quota: DailyQuota, request: QuotaRequest, cap: number): Promise<string | null> => {
  try {
    return await quota.reserve(request, cap);
  } catch (error) {
    if (request.exemptFromCap && error instanceof DomainError) return null;
    throw error;
  }
};

export const createWarmUpHolds = ({ store, system, destinations }: WarmUpHoldsOptions): WarmUpHolds => {
  /** Domains that ever had a plan. */
  const domains = new Map<string, WarmUpState>();

  const todayOf = (known: WarmUpState, { organizationId, accepted }: ExistingMessage): Today | null => {
    const now = system.now();
    const day = dayOf(now);
    const { plan } = known;
    const planned = plan === null ? null : plannedDay(plan, day);
    if (plan === null || planned === null) return null;
    const { domainId } = accepted;
    if (known.today?.quota.day !== day) {
      const quota = createDailyQuota({ store, system, organizationId, owner: { domainId }, day });
      known.today = { quota, waiting: new Map() };
    }
    return { ...planned, ...known.today, domainId, plan, now };
  };

  const countByProvider = async (recipients: readonly Recipient[]): Promise<ReadonlyMap<string, number>> => {
    const counts = new Map<string, number>();
    for (const { domain } of recipients) {
      const provider = (await destinations?.providerOf(domain)) ?? domain;
      counts.set(provider, (counts.get(provider) ?? 0) + 1);
    }
    return counts;
  };

  const holdUntilSlot = (
    { domainId, plan, now, quota, waiting }: Today,
    provider: string,
    recipients: number,
  ): Hold => {
    const before = waiting.get(provider) ?? 0;
    waiting.set(provider, before + recipients);
    const atMs = nextSlot(plan, { today: quota.day, before, random: random(system) });
    return {
      reason: 'warm_up',
      heldBy: warmUpStream(domainId),
      waitSeconds: (atMs - now.getTime()) / SECOND_MS,
      outsideTimeToLive: true,
    };
  };

  const judge = async (message: ExistingMessage, recipients: readonly Recipient[], today: Today) => {
    const { quota, cap } = today;
    const counts = await countByProvider(recipients.filter((one) => !isCounted(one, quota.day)));
    if (counts.size === 0) return null;
    const refusedBy = await reserve(
      quota,
      { recipients: counts, exemptFromCap: message.accepted.stream !== 'bulk' },
      cap,
    );
    if (refusedBy !== null)
      return stillHeld(recipients, today) ?? holdUntilSlot(today, refusedBy, counts.get(refusedBy) ?? 0);
    if (recipients.some(({ held }) => held !== null)) domains.get(today.domainId)?.offers?.taken();
    return null;
  };

  return {
    apply: (event) => {
      const { domainId } = (event as RecordedEvent<WarmUpEvent>).data; // all of the family name it
      const before: WarmUp = { plan: domains.get(domainId)?.plan ?? null };
      const { plan } = warmUp.evolve(before, event as RecordedEvent<WarmUpEvent>, event.metadata);
      const today = domains.get(domainId)?.today ?? null;
      const isReplaced = plan !== null && before.plan !== null;
      domains.set(domainId, { plan, today, ...(isReplaced && { offers: createOffers(system) }) });
    },
    // Mail of a plan that is over keeps its slot on the day after: sending all at once is what the plan was to prevent.
    keeps: (holder) => {
      const domainId = domainOfWarmUp(holder);
      if (domainId === null) return false;
      const known = domains.get(domainId);
      return known?.plan !== null && known?.offers?.areOpen() !== true;
    },
    offered: (holder) => domains.get(domainOfWarmUp(holder) ?? '')?.offers?.passed(),
    of: (message, recipients) => {
      const known = domains.get(message.accepted.domainId);
      const { trial } = message.accepted; // some copies for those who write the template are no volume
      if (known === undefined || message.environment !== 'live' || trial === true) return null;
      const today = todayOf(known, message);
      return today === null ? null : judge(message, recipients, today);
    },
  };
};

/** Addresses are shared by all organizations. */
const NO_ORGANIZATION = '';

interface SourceQuotasOptions {
  readonly store: EventStore;
  readonly system: System;
  readonly destinations: Pick<Destinations, 'providerOf'>;
  readonly warmUps: SourceWarmUps;
}

/** Daily quotas of the IP addresses that are warming up, reserved in the log like those of domains. */
export const createSourceQuotas = ({ store, system, destinations, warmUps }: SourceQuotasOptions): SourceQuotas => {
  const quotas = new Map<string, DailyQuota>();

  const quotaOf = (source: string, day: string): DailyQuota => {
    const known = quotas.get(source);
    if (known?.day === day) return known;
    const quota = createDailyQuota({ store, system, organizationId: NO_ORGANIZATION, owner: { source }, day });
    quotas.set(source, quota);
    return quota;
  };

  return {
    reserve: async ({ source, domain, recipients, exemptFromCap }) => {
      const day = dayOf(system.now());
      const planned = sourceDay(warmUps, source, day);
      if (planned === null) return true;
      const provider = await destinations.providerOf(domain);
      const request = { recipients: new Map([[provider, recipients]]), exemptFromCap };
      try {
        return (await quotaOf(source, day).reserve(request, planned.cap)) === null;
      } catch (error) {
        if (error instanceof DomainError) return exemptFromCap; // other processes reserved the last of it
        throw error;
      }
    },
    retryAfterSeconds: () => {
      const now = system.now();
      const atMs = startOf(dayAfter(dayOf(now), 1)) + random(system) * DAY_MS;
      return Math.ceil((atMs - now.getTime()) / SECOND_MS);
    },
  };
};
