import { partsOfDestination } from '../../../src/domain/destination/suspension.ts';
import type { Destinations } from '../../../src/workers/delivery/due.ts';
import type { Ground } from '../ground.ts';
import type { Log } from './log.ts';

/** Current behaviour of a provider's mail servers. */
export type Mood = 'well' | 'silent' | 'busy';

/** Mailbox providers, some of which have outages. */
export interface Operators {
  /** Absent: one server accepts all mail. */
  readonly destinations?: Destinations;
  /** Recipient domains. */
  readonly domains: readonly string[];
  readonly names: readonly string[];
  moodOf(domain: string): Mood;
  /** Called by a process that found a provider down, whether or not the log records it. */
  suspended(operator: string, until: string): void;
  /** Unix time in milliseconds until which no mail to a domain is expected. */
  suspendedUntilMs(domain: string): number;
  /** Maximum delay after a message's expiry at which its expiry is recorded, for mail to a domain. */
  expiryLateMs(domain: string): number;
}

const ONE: Operators = {
  domains: ['example.net'],
  names: [],
  moodOf: () => 'well',
  suspended: () => undefined,
  suspendedUntilMs: () => 0,
  expiryLateMs: () => 0,
};

/** Domains by provider. Domains of one provider share its limits. */
const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  'large.example': ['example.net', 'example.org'],
  'small.example': ['small.example'],
  'other.example': ['other.example'],
};
const SEVERAL_SHARE = 0.5;
const MOODS: readonly Mood[] = ['well', 'well', 'well', 'silent', 'busy'];
/** Longer than several suspensions and longer than some messages live. */
const MOOD_MS_MAX = 900_000;
const FOR_EVER_SHARE = 0.3;

/** Interval at which mail is checked again if its destination is suspended for its sending domain. */
const LOOK_AGAIN_MS = 60_000;

/** Half of all runs have several providers with their own moods, from which most recover. */
export const createOperators = ({ random, scheduler, startMs, trace }: Ground, log: Log): Operators => {
  if (!random.chance(SEVERAL_SHARE)) return ONE;
  const providerOf = new Map(
    Object.entries(OPERATORS).flatMap(([name, domains]) => domains.map((domain) => [domain, name] as const)),
  );
  const moods = new Map(
    Object.keys(OPERATORS).map((name) => {
      const untilMs = random.chance(FOR_EVER_SHARE) ? Number.POSITIVE_INFINITY : random.between(0, MOOD_MS_MAX);
      const mood = random.pick(MOODS);
      trace.note(0, `${name} is ${mood} until ${untilMs}`);
      return [name, { mood, untilMs }] as const;
    }),
  );
  const suspensions = new Map<string, number>();
  /** Destinations suspended for the sending domain. */
  const bySender = new Set<string>();
  log.onEvent(({ event }) => {
    if (event.type !== 'DestinationReleased') return;
    const { domainId, destination } = partsOfDestination(event.data.operator);
    if (domainId === null) suspensions.delete(destination);
    else suspensions.set(destination, startMs + scheduler.nowMs() + LOOK_AGAIN_MS);
  });
  const nameOf = (domain: string): string => providerOf.get(domain) ?? domain;
  return {
    destinations: { providerOf: async (domain) => nameOf(domain) },
    domains: [...providerOf.keys()],
    names: Object.keys(OPERATORS),
    moodOf: (domain) => {
      const { mood, untilMs } = moods.get(nameOf(domain)) ?? { mood: 'well', untilMs: 0 };
      return scheduler.nowMs() < untilMs ? mood : 'well';
    },
    suspended: (operator, until) => {
      // All mail of a run has one sending domain, so suspending the destination for it suspends the destination.
      const { domainId, destination } = partsOfDestination(operator);
      if (domainId !== null) bySender.add(destination);
      const untilMs = Date.parse(until) + (domainId === null ? 0 : LOOK_AGAIN_MS);
      suspensions.set(destination, Math.max(suspensions.get(destination) ?? 0, untilMs));
    },
    suspendedUntilMs: (domain) => suspensions.get(nameOf(domain)) ?? 0,
    expiryLateMs: (domain) => (bySender.has(nameOf(domain)) ? LOOK_AGAIN_MS : 0),
  };
};
