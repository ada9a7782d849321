import { DomainError } from '../../domain/domain-error.ts';
import type { WarmUpEvent } from '../../domain/events.ts';
import { random } from '../../domain/jitter.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import type { Recipient } from '../../domain/message/recipient.ts';
import type { Hold } from '../../domain/message/start-attempt.ts';
import type { EventStore, RecordedEvent } from '../../domain/ports/event-store.ts';
import type { System } from '../../domain/ports/system.ts';
import { warmUpStream } from '../../domain/streams.ts';
import { turnAt, type Want } from '../../domain/warm-up/daily-quota.ts';
import {
  dayOf,
  domainOfWarmUp,
  type Plan,
  type PlannedDay,
  plannedDay,
  type WarmUp,
  warmUp,
} from '../../domain/warm-up/warm-up.ts';
import type { Destinations } from '../delivery/destinations.ts';
import { createOffers, type Offers } from './offers.ts';
import { createPlacesOfDay, type PlacesOfDay } from './places-of-day.ts';

/** Which mail has to wait, by how much of a day's share its destinations have had from its domain. */
export interface WarmUpHolds {
  /** Takes the next event of the family. */
  apply(event: RecordedEvent): void;
  /**
   * Whether what is held by this is so still: true of a plan that was not ended, unless it replaced another and may have
   * places for what waits; of any other holder nothing is known here.
   */
  keeps(holder: string): boolean;
  /** All that this holder keeps back has been offered once. */
  offered(holder: string): void;
  /**
   * null: it may leave, and is counted. All mail is counted, bulk mail alone has to wait: whoever waits for a password is
   * not to wait for tomorrow, and receivers count him all the same.
   * @param recipients who would get it now.
   * @throws {DomainError} `resource_conflict`: it may be asked again.
   */
  of(message: ExistingMessage, recipients: readonly Recipient[]): Promise<Hold | null> | null;
}

export interface WarmUpHoldsOptions {
  readonly store: EventStore;
  readonly system: System;
  /** Absent: one server takes everything, and every recipient's domain is a destination of its own. */
  readonly destinations?: Destinations | undefined;
}

const SECOND_MS = 1_000;

interface Today extends PlannedDay {
  readonly domainId: string;
  readonly plan: Plan;
  readonly now: Date;
  readonly places: PlacesOfDay;
  /** Recipients that this process has told to wait today, by destination. */
  readonly waiting: Map<string, number>;
}

interface Known {
  plan: Plan | null;
  /** Absent: no plan has replaced another. */
  offers?: Offers;
  today: Pick<Today, 'places' | 'waiting'> | null;
}

/** Once a day: whoever was tried today already is counted. */
const isCounted = ({ attempts, updatedAt }: Recipient, day: string): boolean =>
  attempts > 0 && updatedAt.startsWith(day);

/** Whoever has a turn keeps it: he is asked about when a plan has places that the one before had not. */
const stillHeld = (recipients: readonly Recipient[], { domainId, now }: Today): Hold | null => {
  const heldBy = warmUpStream(domainId);
  const [held] = recipients.map((recipient) => recipient.held);
  if (held?.heldBy !== heldBy || held.until <= now.toISOString()) return null;
  const waitSeconds = (Date.parse(held.until) - now.getTime()) / SECOND_MS;
  return { reason: 'warm_up', heldBy, waitSeconds, outsideTimeToLive: true };
};

/** Whom others who count at the same moment are in the way of, and who need not be counted, leaves all the same. */
const takeOrPass = async (places: PlacesOfDay, want: Want, cap: number): Promise<string | null> => {
  try {
    return await places.take(want, cap);
  } catch (error) {
    if (want.always && error instanceof DomainError) return null;
    throw error;
  }
};

export const createWarmUpHolds = ({ store, system, destinations }: WarmUpHoldsOptions): WarmUpHolds => {
  /** Domains that ever had a plan. */
  const domains = new Map<string, Known>();

  const todayOf = (known: Known, { organizationId, accepted }: ExistingMessage): Today | null => {
    const now = system.now();
    const day = dayOf(now);
    const { plan } = known;
    const planned = plan === null ? null : plannedDay(plan, day);
    if (plan === null || planned === null) return null;
    const { domainId } = accepted;
    if (known.today?.places.day !== day) {
      const places = createPlacesOfDay({ store, system, organizationId, domainId, day });
      known.today = { places, waiting: new Map() };
    }
    return { ...planned, ...known.today, domainId, plan, now };
  };

  const countByDestination = async (recipients: readonly Recipient[]): Promise<ReadonlyMap<string, number>> => {
    const counts = new Map<string, number>();
    for (const { domain } of recipients) {
      const operator = (await destinations?.operatorOf(domain)) ?? domain;
      counts.set(operator, (counts.get(operator) ?? 0) + 1);
    }
    return counts;
  };

  const holdUntilTurn = (
    { domainId, plan, now, places, waiting }: Today,
    operator: string,
    recipients: number,
  ): Hold => {
    const before = waiting.get(operator) ?? 0;
    waiting.set(operator, before + recipients);
    const atMs = turnAt(plan, { today: places.day, before, random: random(system) });
    return {
      ...{ reason: 'warm_up', heldBy: warmUpStream(domainId) },
      waitSeconds: (atMs - now.getTime()) / SECOND_MS,
      outsideTimeToLive: true,
    };
  };

  const judge = async (message: ExistingMessage, recipients: readonly Recipient[], today: Today) => {
    const { places, cap } = today;
    const wanted = await countByDestination(recipients.filter((one) => !isCounted(one, places.day)));
    if (wanted.size === 0) return null;
    const full = await takeOrPass(places, { places: wanted, always: message.accepted.stream !== 'bulk' }, cap);
    if (full !== null) return stillHeld(recipients, today) ?? holdUntilTurn(today, full, wanted.get(full) ?? 0);
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
    // What a plan keeps back that is over has its turn on the day after: all at once is what it was to prevent.
    keeps: (holder) => {
      const domainId = domainOfWarmUp(holder);
      if (domainId === null) return false;
      const known = domains.get(domainId);
      return known?.plan !== null && known?.offers?.areOpen() !== true;
    },
    offered: (holder) => domains.get(domainOfWarmUp(holder) ?? '')?.offers?.passed(),
    of: (message, recipients) => {
      const known = domains.get(message.accepted.domainId);
      if (known === undefined || message.environment !== 'live') return null;
      const today = todayOf(known, message);
      return today === null ? null : judge(message, recipients, today);
    },
  };
};
