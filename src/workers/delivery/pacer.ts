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
import type { Destinations } from './destinations.ts';
import { createProvenServers } from './proven-servers.ts';
import { putLast } from './put-last.ts';
import { createRates, type Rates } from './rates.ts';

/** What an attempt came to. */
export interface Experience {
  /** Destination in whose queue it waited. */
  readonly operator: string;
  readonly domain: string;
  readonly outcomes: readonly AttemptOutcome[];
  readonly tookMs: number;
  /** When it left its line, in ms that never run backwards. */
  readonly beganMs: number;
}

/**
 * How much each destination gets at the same time and in a time, from what it answers and what other processes have found.
 *
 * Each outcome is held against the destination that it tells something of, which need not be the one that the mail waited
 * for: anybody can name somebody else's hosts. A provider is slowed or suspended by what its own servers say or fail to
 * say, at addresses that were tried, and only domains with such an address share its suspension. What a domain's own DNS
 * or policy does wrong is held against that domain, which then is a destination by itself (`@example.com`) until mail
 * for it is answered again.
 */
export interface Pacer extends Pick<Rates, 'begun' | 'waitMsOf' | 'roomOf'> {
  /** Attempts at the same time; 0: it is paused. */
  limitOf(operator: string): number;
  /** Destination that mail for a domain waits for now. */
  destinationOf(domain: string, destinations: Destinations): Promise<string>;
  /** @returns what to put on record: destinations that have just been suspended. */
  report(experience: Experience): readonly SuspendDestination[];
  /** Takes the next event of the log; those of other families change nothing. */
  apply(event: RecordedEvent): void;
}

/** About 5 MB. A destination that is forgotten begins as a new one. */
const DESTINATIONS_MAX = 20_000;
/** Of one suspension: large providers have some hundred. Those that are forgotten are tried once more. */
const TRIED_MAX = 256;

const smtpOf = (said: AttemptOutcome): SmtpFacts | null => ('smtp' in said ? said.smtp : null);
const addressOf = (said: AttemptOutcome): string | null => smtpOf(said)?.address ?? null;
const addressesOf = (outcomes: readonly AttemptOutcome[]): readonly string[] => [
  ...new Set(outcomes.flatMap((said) => addressOf(said) ?? [])),
];

/** Whoever said least: no answer says more of a server than one that was good for somebody else. */
const worstOf = (outcomes: readonly AttemptOutcome[]): SmtpFacts | undefined =>
  outcomes.flatMap((said) => (said.outcome === 'deferred' ? [said.smtp] : []))[0];

const isGood = (bearing: Bearing | null): boolean => bearing === 'flowing' || bearing === 'slow';

const reasonOf = (bearing: Bearing, isItsOwn: boolean): SuspendDestination['reason'] => {
  if (isItsOwn) return 'recipient_domain';
  if (bearing === 'refusing') return 'refused';
  return bearing === 'unreachable' ? 'unreachable' : 'busy';
};

export const createPacer = (system: System, logger: Logger): Pacer => {
  const rates = createRates(system, logger);
  /** In the order in which they were last heard of. */
  const paces = new Map<string, Pace>();
  /** Addresses that were tried of those that are suspended; those that are missing are suspended as a whole. */
  const tried = new Map<string, Set<string>>();
  const proven = createProvenServers(system);
  /** Domains whose mail others than their provider answered, and that provider: they take no place of its any more. */
  const elsewhere = new Map<string, string>();

  const paceOf = (operator: string): Pace => paces.get(operator) ?? unhurried(DESTINATION_LIMITS);
  const now = (): string => system.now().toISOString();
  const set = (operator: string, pace: Pace): void => putLast(paces, operator, pace, DESTINATIONS_MAX);

  const limitOf = (operator: string): number => {
    const pace = paceOf(operator);
    const isAtRest = pace.pausedUntil !== null && isPaused(pace, now());
    return isAtRest ? 0 : Math.floor(pace.limit);
  };

  const noteTried = (operator: string, addresses: readonly string[]): void => {
    const known = tried.get(operator);
    for (const address of addresses) if (known !== undefined && known.size < TRIED_MAX) known.add(address);
  };

  const setTried = (operator: string, addresses: readonly string[] | undefined): void => {
    if (addresses === undefined || addresses.length === 0) tried.delete(operator);
    else putLast(tried, operator, new Set(addresses), DESTINATIONS_MAX);
  };

  /** A server that nobody has had an answer from is no reason to hold back mail for others of its provider that do answer. */
  const isOutsider = (destination: string, said: AttemptOutcome): boolean => {
    const bearing = bearingOf([said], 0);
    const address = addressOf(said);
    if (bearing === null || isGood(bearing) || address === null || isOwnDestination(destination)) return false;
    return proven.isStrangerTo(destination, address);
  };

  /** What each destination is told of by an attempt. */
  const chargesOf = ({ operator, domain, outcomes }: Experience): ReadonlyMap<string, AttemptOutcome[]> => {
    const own = ownDestination(domain);
    const chargedFor = (said: AttemptOutcome, destination: string): readonly string[] => {
      const charged = isOutsider(destination, said) ? own : destination;
      return [charged, ...(operator === own ? [own] : [])]; // its own queue has a pace too
    };
    const pairs = outcomes.flatMap((said) => {
      const { destination = operator } = said;
      const charged = destination === null ? [] : chargedFor(said, destination);
      return [...new Set(charged)].map((each) => ({ destination: each, said }));
    });
    const groups = Map.groupBy(pairs, ({ destination }) => destination);
    return new Map([...groups].map(([destination, group]) => [destination, group.map(({ said }) => said)]));
  };

  const suspensionOf = (operator: string, domain: string, bearing: Bearing, outcomes: readonly AttemptOutcome[]) => {
    const { code = 0, enhanced = null, mx = null } = worstOf(outcomes) ?? {};
    const isItsOwn = isOwnDestination(operator) && outcomes.some(({ destination }) => destination === operator);
    const addresses = addressesOf(outcomes);
    return {
      ...{ operator, domain, reason: reasonOf(bearing, isItsOwn), code, enhanced, mx },
      ...(addresses.length === 0 ? {} : { addresses: [...addresses] }),
    };
  };

  const hold = (
    operator: string,
    outcomes: readonly AttemptOutcome[],
    { domain, tookMs, beganMs }: Experience,
  ): SuspendDestination | null => {
    const bearing = bearingOf(outcomes, tookMs);
    rates.report({ operator, outcomes, bearing, beganMs });
    if (bearing === null) return null;
    const addresses = addressesOf(outcomes);
    proven.note(operator, addresses, isGood(bearing));
    const before = paceOf(operator);
    const times = { now: now(), nowMs: system.monotonicMs(), beganMs };
    const after = paceAfter(before, { ...times, bearing, random: random(system), limits: DESTINATION_LIMITS });
    set(operator, after);
    if (after.pausedUntil === null || after.pauses === before.pauses) {
      if (!isGood(bearing)) noteTried(operator, addresses);
      return null;
    }
    setTried(operator, addresses);
    const suspension = suspensionOf(operator, domain, bearing, outcomes);
    return { ...suspension, times: after.pauses, until: after.pausedUntil };
  };

  /** After a good answer mail for the domain waits for its provider again. */
  const rejoin = (domain: string, outcomes: readonly AttemptOutcome[]): void => {
    const left = elsewhere.get(domain);
    if (left === undefined || outcomes.some(({ destination }) => destination === left)) {
      elsewhere.delete(domain);
      paces.delete(ownDestination(domain));
    }
  };

  const noteWay = (experience: Experience): void => {
    const { operator, domain, outcomes, tookMs } = experience;
    if (operator === ownDestination(domain)) {
      if (isGood(bearingOf(outcomes, tookMs))) rejoin(domain, outcomes);
      return;
    }
    const told = outcomes.flatMap(({ destination }) => destination ?? []);
    if (told.length > 0 && !told.includes(operator)) putLast(elsewhere, domain, operator, DESTINATIONS_MAX);
  };

  const isAlone = (domain: string, operator: string): boolean => {
    const left = elsewhere.get(domain);
    if (left !== undefined && left !== operator) elsewhere.delete(domain); // it has moved
    return left === operator || paces.has(ownDestination(domain));
  };

  return {
    ...{ begun: rates.begun, waitMsOf: rates.waitMsOf, roomOf: rates.roomOf },
    limitOf,

    destinationOf: async (domain, { operatorOf, serversOf }) => {
      const operator = await operatorOf(domain);
      if (isAlone(domain, operator)) return ownDestination(domain);
      if (limitOf(operator) > 0 || serversOf === undefined) return operator;
      return isCovered(tried.get(operator), await serversOf(domain)) ? operator : ownDestination(domain);
    },

    report: (experience) => {
      const suspensions = [...chargesOf(experience)].flatMap(
        ([operator, outcomes]) => hold(operator, outcomes, experience) ?? [],
      );
      noteWay(experience);
      return suspensions;
    },

    apply: ({ type, data }) => {
      if (type === 'DestinationReleased') {
        paces.delete(data.operator);
        tried.delete(data.operator);
        rates.forget(data.operator);
      }
      if (type !== 'DestinationSuspended') return;
      const before = paceOf(data.operator);
      const less = { limit: 1, isUntried: false, lessSinceMs: system.monotonicMs() };
      set(data.operator, { ...before, ...less, pauses: data.times, pausedUntil: data.until });
      setTried(data.operator, data.addresses);
    },
  };
};
