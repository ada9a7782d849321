import { LRUCache } from 'lru-cache';
import {
  type AfterAttempt,
  type AttemptCount,
  adjustConcurrency,
  asksForLowerRate,
  CONCURRENCY_BOUNDS,
  type ConcurrencyLimit,
  consumeRate,
  countAttempt,
  type Feedback,
  feedbackOf,
  initialConcurrency,
  perMinuteOf,
  type RateLimit,
  raiseRate,
  reduceRate,
  slowDown,
  waitingMax,
} from '../../domain/destination/pacing.ts';
import {
  isCovered,
  isOwnDestination,
  isSuspended,
  ownDestination,
  type SuspendDestination,
} from '../../domain/destination/suspension.ts';
import type { RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { AttemptOutcome } from '../../domain/message/attempt.ts';
import type { SmtpFacts } from '../../domain/message/events.ts';
import type { KeyLimits, Logger, System } from '../../lib/async/async.ts';
import { random } from '../../lib/async/async.ts';
import type { Destinations } from './due.ts';
import { createSenderSuspensions, type Sender, type SenderSuspensions } from './suspensions.ts';

/**
 * Addresses of each destination that have recently accepted mail. Some providers also name their customers' machines under
 * their own domain, and anyone can put such a name into their MX records.
 */
interface ProvenServers {
  note(provider: string, addresses: readonly string[], isGood: boolean): void;
  /** It has not answered well, and other addresses of the destination have, within the hour. */
  isStrangerTo(provider: string, address: string): boolean;
}

/** About 5 MB with their addresses. For an evicted destination any address is accepted. */
const PROVIDERS_MAX = 5_000;
/** Addresses per destination. The largest providers use a few at a time. */
const ADDRESSES_MAX = 32;
/**
 * Twice the longest suspension. Longer trusts a provider that may be down; shorter lets one stranger count for it while
 * there is little mail.
 */
const LATELY_MS = 3_600_000;

export const createProvenServers = ({ monotonicMs }: Pick<System, 'monotonicMs'>): ProvenServers => {
  const servers = new LRUCache<string, Map<string, { ms: number }>>({ max: PROVIDERS_MAX });

  const knownOf = (provider: string): Map<string, { ms: number }> => {
    const known = servers.get(provider) ?? new Map<string, { ms: number }>();
    if (known.size === 0) servers.set(provider, known);
    return known;
  };

  const prove = (provider: string, address: string): void => {
    const known = knownOf(provider);
    known.delete(address);
    known.set(address, { ms: monotonicMs() });
    for (const oldest of known.keys()) if (known.size > ADDRESSES_MAX) known.delete(oldest);
  };

  return {
    note: (provider, addresses, isGood) => {
      for (const address of addresses) {
        if (isGood) prove(provider, address);
        else servers.get(provider)?.delete(address);
      }
    },
    isStrangerTo: (provider, address) => {
      const known = servers.get(provider);
      if (known === undefined || known.has(address)) return false;
      const afterMs = monotonicMs() - LATELY_MS;
      return known.values().some(({ ms }) => ms > afterMs);
    },
  };
};

/** Feedback of an attempt about the rate of its destination. */
interface RateReport {
  readonly provider: string;
  readonly outcomes: readonly AttemptOutcome[];
  readonly feedback: Feedback | null;
  /** When it left its queue, by the monotonic clock. */
  readonly beganMs: number;
}

/**
 * A rate limit for each destination that has asked for fewer messages in a time; others have none. Each process has limits
 * of its own, for its share of the mail, and none after a start: with several processes a destination gets somewhat more
 * until each of them has been asked.
 */
interface DestinationRateLimits extends Pick<KeyLimits, 'started' | 'waitMsOf' | 'capacityOf'> {
  report(report: RateReport): void;
  /** Removes the limit. */
  forget(provider: string): void;
}

/** About 4 MB. An evicted destination is treated as one that never asked for less and was sent nothing yet. */
const RATES_MAX = 20_000;

/** A slow answer is good enough. */
const GOOD: ReadonlySet<Feedback | null> = new Set(['flowing', 'slow']);

const createDestinationRateLimits = (
  { monotonicMs }: Pick<System, 'monotonicMs'>,
  logger: Logger,
): DestinationRateLimits => {
  /** Written at each attempt: the count in the entry is replaced, not the entry. */
  const counts = new LRUCache<string, { attempts: AttemptCount }>({ max: RATES_MAX });
  const limits = new LRUCache<string, RateLimit>({ max: RATES_MAX });

  const count = (provider: string, nowMs: number): void => {
    const known = counts.get(provider);
    if (known === undefined) counts.set(provider, { attempts: countAttempt(undefined, nowMs) });
    else known.attempts = countAttempt(known.attempts, nowMs);
  };

  const usedPerMinute = (provider: string): number => {
    const known = counts.get(provider);
    return known === undefined ? 0 : perMinuteOf(known.attempts);
  };

  const reduce = (provider: string, beganMs: number): void => {
    const before = limits.get(provider);
    const after = reduceRate(before, { perMinute: usedPerMinute(provider), beganMs, nowMs: monotonicMs() });
    if (after === before) return;
    limits.set(provider, after);
    const perMinute = Math.round(after.perMinute);
    logger.info({ destination: provider, perMinute }, 'a destination asked for less mail: its rate limit is now lower');
  };

  /** @param limit undefined: it ends. */
  const change = (provider: string, limit: RateLimit | undefined): void => {
    if (limit !== undefined) return void limits.set(provider, limit);
    limits.delete(provider);
    logger.info({ destination: provider }, 'a destination no longer has a rate limit');
  };

  return {
    started: (provider) => {
      const nowMs = monotonicMs();
      count(provider, nowMs);
      const limit = limits.size === 0 ? undefined : limits.get(provider);
      if (limit !== undefined) change(provider, consumeRate(limit, nowMs));
    },
    waitMsOf: (provider) => {
      const limit = limits.get(provider);
      return limit === undefined ? 0 : Math.max(0, limit.nextMs - monotonicMs());
    },
    capacityOf: (provider) => {
      const limit = limits.get(provider);
      return limit === undefined ? Number.POSITIVE_INFINITY : waitingMax(limit);
    },
    report: ({ provider, outcomes, feedback, beganMs }) => {
      if (asksForLowerRate(outcomes)) return reduce(provider, beganMs);
      const limit = GOOD.has(feedback) ? limits.get(provider) : undefined;
      if (limit === undefined) return;
      change(provider, raiseRate(limit, { usedPerMinute: usedPerMinute(provider), nowMs: monotonicMs() }));
    },
    forget: (provider) => {
      limits.delete(provider);
    },
  };
};

/** The outcomes of an attempt. */
interface AttemptResult {
  readonly sender: Sender;
  /** Destination in whose queue it waited. */
  readonly provider: string;
  readonly domain: string;
  readonly outcomes: readonly AttemptOutcome[];
  readonly tookMs: number;
  /** When it left its queue, by the monotonic clock. */
  readonly beganMs: number;
}

/**
 * The limits of each destination: concurrency (AIMD, with suspensions), and rate, from its servers' answers and what other
 * processes have recorded.
 *
 * Each outcome counts for the destination that it is about, which need not be the one in whose queue the mail waited:
 * MX records can name the hosts of any other provider. A provider is slowed or suspended by the answers of its own servers,
 * or their absence, at addresses that were tried, and only domains with such an address share its suspension. A domain whose
 * own DNS or policy is wrong becomes a destination of its own (`@example.com`) until its mail is answered again. What may be
 * about the sender suspends no provider.
 */
export interface DestinationLimits extends KeyLimits, Pick<SenderSuspensions, 'isSuspendedFor'> {
  /** Destination in whose queue mail for a domain waits now. */
  destinationOf(domain: string, destinations: Destinations): Promise<string>;
  /** @returns suspensions to record. */
  report(result: AttemptResult): readonly SuspendDestination[];
  /** Applies an event of a destination. */
  apply(event: RecordedEvent): void;
}

/** About 5 MB. An evicted destination starts again from the initial limit. */
const DESTINATIONS_MAX = 20_000;
/** Addresses of one suspension: large providers have some hundred. One that is left out is tried once more. */
const TRIED_MAX = 256;

const smtpOf = (outcome: AttemptOutcome): SmtpFacts | null => ('smtp' in outcome ? outcome.smtp : null);
const addressOf = (outcome: AttemptOutcome): string | null => smtpOf(outcome)?.address ?? null;
const addressesOf = (outcomes: readonly AttemptOutcome[]): readonly string[] => [
  ...new Set(outcomes.flatMap((outcome) => addressOf(outcome) ?? [])),
];

const firstDeferral = (outcomes: readonly AttemptOutcome[]): SmtpFacts | undefined =>
  outcomes.flatMap((outcome) => (outcome.outcome === 'deferred' ? [outcome.smtp] : []))[0];

const isGood = (feedback: Feedback | null): boolean => feedback === 'flowing' || feedback === 'slow';

const reasonOf = (feedback: Feedback, isItsOwn: boolean): SuspendDestination['reason'] => {
  if (isItsOwn) return 'recipient_domain';
  if (feedback === 'refusing') return 'refused';
  return feedback === 'unreachable' ? 'unreachable' : 'busy';
};

const suspensionOf = (
  provider: string,
  domain: string,
  feedback: Feedback,
  outcomes: readonly AttemptOutcome[],
): Omit<SuspendDestination, 'times' | 'until'> => {
  const { code = 0, enhanced = null, mx = null } = firstDeferral(outcomes) ?? {};
  const isItsOwn = isOwnDestination(provider) && outcomes.some(({ destination }) => destination === provider);
  const addresses = addressesOf(outcomes);
  return {
    operator: provider,
    domain,
    reason: reasonOf(feedback, isItsOwn),
    code,
    enhanced,
    mx,
    ...(addresses.length === 0 ? {} : { addresses: [...addresses] }),
  };
};

export const createDestinationLimits = (system: System, logger: Logger): DestinationLimits => {
  const rateLimits = createDestinationRateLimits(system, logger);
  const limits = new LRUCache<string, ConcurrencyLimit>({ max: DESTINATIONS_MAX });
  /** Addresses of suspended destinations that were tried; a destination without an entry is suspended as a whole. */
  const tried = new LRUCache<string, Set<string>>({ max: DESTINATIONS_MAX });
  const senders = createSenderSuspensions(system);
  const proven = createProvenServers(system);
  /** Domains whose mail was answered by servers of another than their provider, and that provider: they left its queue. */
  const elsewhere = new LRUCache<string, string>({ max: DESTINATIONS_MAX });

  const limitOf = (provider: string): ConcurrencyLimit =>
    limits.get(provider) ?? initialConcurrency(CONCURRENCY_BOUNDS);
  const now = (): string => system.now().toISOString();
  const set = (provider: string, limit: ConcurrencyLimit): void => void limits.set(provider, limit);

  const concurrencyOf = (provider: string): number => {
    const limit = limitOf(provider);
    return limit.suspension !== null && isSuspended(limit, now()) ? 0 : Math.floor(limit.limit);
  };

  const addTried = (provider: string, addresses: readonly string[]): void => {
    const known = tried.get(provider);
    for (const address of addresses) if (known !== undefined && known.size < TRIED_MAX) known.add(address);
  };

  const setTried = (provider: string, addresses: readonly string[] | undefined): void => {
    if (addresses === undefined || addresses.length === 0) tried.delete(provider);
    else tried.set(provider, new Set(addresses));
  };

  /** A server that has never answered well does not suspend its provider, if others of the provider have. */
  const isOutsider = (destination: string, outcome: AttemptOutcome): boolean => {
    const feedback = feedbackOf([outcome], 0);
    const address = addressOf(outcome);
    if (feedback === null || isGood(feedback) || address === null || isOwnDestination(destination)) return false;
    return proven.isStrangerTo(destination, address);
  };

  /** The outcomes of an attempt by the destination that each counts for. */
  const byDestination = ({ provider, domain, outcomes }: AttemptResult): ReadonlyMap<string, AttemptOutcome[]> => {
    const own = ownDestination(domain);
    const countsFor = (outcome: AttemptOutcome, destination: string): readonly string[] => [
      isOutsider(destination, outcome) ? own : destination,
      ...(provider === own ? [own] : []), // its own queue has a limit too
    ];
    const pairs = outcomes.flatMap((outcome) => {
      const { destination = provider } = outcome;
      const counted = destination === null ? [] : countsFor(outcome, destination);
      return [...new Set(counted)].map((each) => ({ destination: each, outcome }));
    });
    const groups = Map.groupBy(pairs, ({ destination }) => destination);
    return new Map([...groups].map(([destination, group]) => [destination, group.map(({ outcome }) => outcome)]));
  };

  /** All senders are affected. @returns null: this does not suspend it. */
  const adjust = (
    provider: string,
    outcomes: readonly AttemptOutcome[],
    domain: string,
    attempt: AfterAttempt,
  ): SuspendDestination | null => {
    const { feedback } = attempt;
    const addresses = addressesOf(outcomes);
    const before = limitOf(provider);
    const after = adjustConcurrency(before, attempt);
    set(provider, after);
    if (after.suspension === null || after.suspension.times === before.suspension?.times) {
      if (!isGood(feedback)) addTried(provider, addresses);
      return null;
    }
    setTried(provider, addresses);
    return { ...suspensionOf(provider, domain, feedback, outcomes), ...after.suspension };
  };

  /** @returns null: this does not suspend it. */
  const reportTo = (
    provider: string,
    outcomes: readonly AttemptOutcome[],
    { sender, domain, tookMs, beganMs }: AttemptResult,
  ): SuspendDestination | null => {
    const feedback = feedbackOf(outcomes, tookMs);
    rateLimits.report({ provider, outcomes, feedback, beganMs });
    if (feedback === null) return null;
    proven.note(provider, addressesOf(outcomes), isGood(feedback));
    if (isGood(feedback)) senders.forget(provider, sender);
    const times = { now: now(), nowMs: system.monotonicMs(), beganMs };
    const attempt = { ...times, feedback, random: random(system), bounds: CONCURRENCY_BOUNDS };
    if (feedback !== 'busy' || !senders.isAboutSender(provider, sender, outcomes))
      return adjust(provider, outcomes, domain, attempt);
    set(provider, slowDown(limitOf(provider), attempt));
    const suspension = senders.slowDown(provider, sender, attempt);
    return suspension && { ...suspensionOf(provider, domain, feedback, outcomes), ...suspension };
  };

  /** After a good answer the domain's mail joins its provider's queue again. */
  const rejoin = (domain: string, outcomes: readonly AttemptOutcome[]): void => {
    const left = elsewhere.get(domain);
    if (left === undefined || outcomes.some(({ destination }) => destination === left)) {
      elsewhere.delete(domain);
      limits.delete(ownDestination(domain));
    }
  };

  const noteRoute = ({ provider, domain, outcomes, tookMs }: AttemptResult): void => {
    if (provider === ownDestination(domain)) {
      if (isGood(feedbackOf(outcomes, tookMs))) rejoin(domain, outcomes);
      return;
    }
    const reported = outcomes.flatMap(({ destination }) => destination ?? []);
    if (reported.length > 0 && !reported.includes(provider)) elsewhere.set(domain, provider);
  };

  const isAlone = (domain: string, provider: string): boolean => {
    const left = elsewhere.get(domain);
    if (left !== undefined && left !== provider) elsewhere.delete(domain); // its MX records have changed
    return left === provider || limits.has(ownDestination(domain));
  };

  return {
    concurrencyOf,
    waitMsOf: rateLimits.waitMsOf,
    capacityOf: rateLimits.capacityOf,
    started: rateLimits.started,

    destinationOf: async (domain, { providerOf, serversOf }) => {
      const provider = await providerOf(domain);
      if (isAlone(domain, provider)) return ownDestination(domain);
      if (concurrencyOf(provider) > 0 || serversOf === undefined) return provider;
      return isCovered(tried.get(provider), await serversOf(domain)) ? provider : ownDestination(domain);
    },

    isSuspendedFor: senders.isSuspendedFor,

    report: (result) => {
      const suspensions = [...byDestination(result)].flatMap(
        ([provider, outcomes]) => reportTo(provider, outcomes, result) ?? [],
      );
      noteRoute(result);
      return suspensions;
    },

    apply: (event) => {
      if (senders.apply(event)) return;
      const { type, data } = event;
      if (type === 'DestinationReleased') {
        limits.delete(data.operator);
        rateLimits.forget(data.operator);
      }
      if (type !== 'DestinationSuspended') return;
      const { times, until } = data;
      const suspension = { times, until };
      set(data.operator, { limit: 1, isSlowStart: false, suspension, reducedAtMs: system.monotonicMs() });
      setTried(data.operator, data.addresses);
    },
  };
};
