import { LRUCache } from 'lru-cache';
import type { KeyLimits } from '../../async/keyed-queue.ts';
import {
  isCovered,
  isOwnDestination,
  ownDestination,
  type SuspendDestination,
} from '../../domain/destination/destination.ts';
import {
  type Bearing,
  bearingOf,
  DESTINATION_LIMITS,
  isPaused,
  type Pace,
  paceAfter,
  unhurried,
} from '../../domain/destination/pace.ts';
import { random } from '../../domain/jitter.ts';
import type { SmtpFacts } from '../../domain/message/events.ts';
import type { AttemptOutcome } from '../../domain/message/record-attempt.ts';
import type { RecordedEvent } from '../../domain/ports/event-store.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { System } from '../../domain/ports/system.ts';
import type { Destinations } from './due.ts';
import { createProvenServers } from './proven-servers.ts';
import { createRateLimits } from './rate-limits.ts';

/** What an attempt came to. */
export interface AttemptResult {
  /** Destination in whose queue it waited. */
  readonly operator: string;
  readonly domain: string;
  readonly outcomes: readonly AttemptOutcome[];
  readonly tookMs: number;
  /** When it left its queue, by the monotonic clock. */
  readonly beganMs: number;
}

/**
 * The limits of each destination: concurrency (AIMD, with suspensions), and rate (`rate-limits.ts`), from what its servers
 * answer and what other processes have found.
 *
 * Each outcome counts for the destination that it tells something of, which need not be the one that the mail waited for:
 * anybody can name somebody else's hosts in MX records. A provider is slowed or suspended by what its own servers say or
 * fail to say, at addresses that were tried, and only domains with such an address share its suspension. A domain whose own
 * DNS or policy is wrong becomes a destination by itself (`@example.com`) until mail for it is answered again.
 */
export interface DestinationLimits extends KeyLimits {
  /** Destination that mail for a domain waits for now. */
  destinationOf(domain: string, destinations: Destinations): Promise<string>;
  /** @returns suspensions to record. */
  report(result: AttemptResult): readonly SuspendDestination[];
  /** Applies an event of a destination. */
  apply(event: RecordedEvent): void;
}

/** About 5 MB. A destination that is forgotten begins as a new one. */
const DESTINATIONS_MAX = 20_000;
/** Addresses of one suspension: large providers have some hundred. One that is forgotten is tried once more. */
const TRIED_MAX = 256;

const smtpOf = (outcome: AttemptOutcome): SmtpFacts | null => ('smtp' in outcome ? outcome.smtp : null);
const addressOf = (outcome: AttemptOutcome): string | null => smtpOf(outcome)?.address ?? null;
const addressesOf = (outcomes: readonly AttemptOutcome[]): readonly string[] => [
  ...new Set(outcomes.flatMap((outcome) => addressOf(outcome) ?? [])),
];

const firstDeferral = (outcomes: readonly AttemptOutcome[]): SmtpFacts | undefined =>
  outcomes.flatMap((outcome) => (outcome.outcome === 'deferred' ? [outcome.smtp] : []))[0];

const isGood = (bearing: Bearing | null): boolean => bearing === 'flowing' || bearing === 'slow';

const reasonOf = (bearing: Bearing, isItsOwn: boolean): SuspendDestination['reason'] => {
  if (isItsOwn) return 'recipient_domain';
  if (bearing === 'refusing') return 'refused';
  return bearing === 'unreachable' ? 'unreachable' : 'busy';
};

const suspensionOf = (
  operator: string,
  domain: string,
  bearing: Bearing,
  outcomes: readonly AttemptOutcome[],
): Omit<SuspendDestination, 'times' | 'until'> => {
  const { code = 0, enhanced = null, mx = null } = firstDeferral(outcomes) ?? {};
  const isItsOwn = isOwnDestination(operator) && outcomes.some(({ destination }) => destination === operator);
  const addresses = addressesOf(outcomes);
  return {
    operator,
    domain,
    reason: reasonOf(bearing, isItsOwn),
    code,
    enhanced,
    mx,
    ...(addresses.length === 0 ? {} : { addresses: [...addresses] }),
  };
};

export const createDestinationLimits = (system: System, logger: Logger): DestinationLimits => {
  const rateLimits = createRateLimits(system, logger);
  const paces = new LRUCache<string, Pace>({ max: DESTINATIONS_MAX });
  /** Addresses that were tried of suspended destinations; a destination without an entry is suspended as a whole. */
  const tried = new LRUCache<string, Set<string>>({ max: DESTINATIONS_MAX });
  const proven = createProvenServers(system);
  /** Domains whose mail other servers than their provider's answered, and that provider: they left its queue. */
  const elsewhere = new LRUCache<string, string>({ max: DESTINATIONS_MAX });

  const paceOf = (operator: string): Pace => paces.get(operator) ?? unhurried(DESTINATION_LIMITS);
  const now = (): string => system.now().toISOString();
  const set = (operator: string, pace: Pace): void => void paces.set(operator, pace);

  const concurrencyOf = (operator: string): number => {
    const pace = paceOf(operator);
    const isSuspended = pace.pausedUntil !== null && isPaused(pace, now());
    return isSuspended ? 0 : Math.floor(pace.limit);
  };

  const addTried = (operator: string, addresses: readonly string[]): void => {
    const known = tried.get(operator);
    for (const address of addresses) if (known !== undefined && known.size < TRIED_MAX) known.add(address);
  };

  const setTried = (operator: string, addresses: readonly string[] | undefined): void => {
    if (addresses === undefined || addresses.length === 0) tried.delete(operator);
    else tried.set(operator, new Set(addresses));
  };

  /** A server that has never answered well is no reason to hold mail for others of its provider that do. */
  const isOutsider = (destination: string, outcome: AttemptOutcome): boolean => {
    const bearing = bearingOf([outcome], 0);
    const address = addressOf(outcome);
    if (bearing === null || isGood(bearing) || address === null || isOwnDestination(destination)) return false;
    return proven.isStrangerTo(destination, address);
  };

  /** The outcomes of an attempt by the destination that each counts for. */
  const byDestination = ({ operator, domain, outcomes }: AttemptResult): ReadonlyMap<string, AttemptOutcome[]> => {
    const own = ownDestination(domain);
    const countsFor = (outcome: AttemptOutcome, destination: string): readonly string[] => [
      isOutsider(destination, outcome) ? own : destination,
      ...(operator === own ? [own] : []), // its own queue has a limit too
    ];
    const pairs = outcomes.flatMap((outcome) => {
      const { destination = operator } = outcome;
      const counted = destination === null ? [] : countsFor(outcome, destination);
      return [...new Set(counted)].map((each) => ({ destination: each, outcome }));
    });
    const groups = Map.groupBy(pairs, ({ destination }) => destination);
    return new Map([...groups].map(([destination, group]) => [destination, group.map(({ outcome }) => outcome)]));
  };

  /** @returns null: not suspended by this. */
  const reportTo = (
    operator: string,
    outcomes: readonly AttemptOutcome[],
    { domain, tookMs, beganMs }: AttemptResult,
  ): SuspendDestination | null => {
    const bearing = bearingOf(outcomes, tookMs);
    rateLimits.report({ operator, outcomes, bearing, beganMs });
    if (bearing === null) return null;
    const addresses = addressesOf(outcomes);
    proven.note(operator, addresses, isGood(bearing));
    const before = paceOf(operator);
    const times = { now: now(), nowMs: system.monotonicMs(), beganMs };
    const after = paceAfter(before, { ...times, bearing, random: random(system), limits: DESTINATION_LIMITS });
    set(operator, after);
    if (after.pausedUntil === null || after.pauses === before.pauses) {
      if (!isGood(bearing)) addTried(operator, addresses);
      return null;
    }
    setTried(operator, addresses);
    return { ...suspensionOf(operator, domain, bearing, outcomes), times: after.pauses, until: after.pausedUntil };
  };

  /** After a good answer mail for the domain waits for its provider again. */
  const rejoin = (domain: string, outcomes: readonly AttemptOutcome[]): void => {
    const left = elsewhere.get(domain);
    if (left === undefined || outcomes.some(({ destination }) => destination === left)) {
      elsewhere.delete(domain);
      paces.delete(ownDestination(domain));
    }
  };

  const noteRoute = ({ operator, domain, outcomes, tookMs }: AttemptResult): void => {
    if (operator === ownDestination(domain)) {
      if (isGood(bearingOf(outcomes, tookMs))) rejoin(domain, outcomes);
      return;
    }
    const reported = outcomes.flatMap(({ destination }) => destination ?? []);
    if (reported.length > 0 && !reported.includes(operator)) elsewhere.set(domain, operator);
  };

  const isAlone = (domain: string, operator: string): boolean => {
    const left = elsewhere.get(domain);
    if (left !== undefined && left !== operator) elsewhere.delete(domain); // its MX records have changed
    return left === operator || paces.has(ownDestination(domain));
  };

  return {
    concurrencyOf,
    waitMsOf: rateLimits.waitMsOf,
    capacityOf: rateLimits.capacityOf,
    started: rateLimits.started,

    destinationOf: async (domain, { operatorOf, serversOf }) => {
      const operator = await operatorOf(domain);
      if (isAlone(domain, operator)) return ownDestination(domain);
      if (concurrencyOf(operator) > 0 || serversOf === undefined) return operator;
      return isCovered(tried.get(operator), await serversOf(domain)) ? operator : ownDestination(domain);
    },

    report: (result) => {
      const suspensions = [...byDestination(result)].flatMap(
        ([operator, outcomes]) => reportTo(operator, outcomes, result) ?? [],
      );
      noteRoute(result);
      return suspensions;
    },

    apply: ({ type, data }) => {
      if (type === 'DestinationReleased') {
        paces.delete(data.operator);
        tried.delete(data.operator);
        rateLimits.forget(data.operator);
      }
      if (type !== 'DestinationSuspended') return;
      const before = paceOf(data.operator);
      const reduced = { limit: 1, isUntried: false, lessSinceMs: system.monotonicMs() };
      set(data.operator, { ...before, ...reduced, pauses: data.times, pausedUntil: data.until });
      setTried(data.operator, data.addresses);
    },
  };
};
