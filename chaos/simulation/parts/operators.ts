import { partsOfDestination } from '../../../src/domain/destination/suspension.ts';
import type { Destinations } from '../../../src/workers/delivery/due.ts';
import type { Ground } from '../ground.ts';
import type { Log } from './log.ts';

/** How a provider's mail servers behave at a moment. */
export type Mood = 'well' | 'silent' | 'busy';

/** Mailbox providers, some of which have a bad day. */
export interface Operators {
  /** Absent: one server takes everything. */
  readonly destinations?: Destinations;
  /** Domains of recipients. */
  readonly domains: readonly string[];
  readonly names: readonly string[];
  moodOf(domain: string): Mood;
  /** Somebody who found an operator away says so, whether or not the log hears it. */
  suspended(operator: string, until: string): void;
  /** Until then (ms since the epoch) nothing needs to go to a domain. */
  suspendedUntilMs(domain: string): number;
  /** How much later than its end the time to live of mail to a domain may be noticed. */
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

/** Several domains of one operator are paced as one. */
const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  'large.example': ['example.net', 'example.org'],
  'small.example': ['small.example'],
  'other.example': ['other.example'],
};
const SEVERAL_SHARE = 0.5;
const MOODS: readonly Mood[] = ['well', 'well', 'well', 'silent', 'busy'];
/** Longer than several suspensions, and than some messages live. */
const MOOD_MS_MAX = 900_000;
const FOR_EVER_SHARE = 0.3;

/** Mail of a destination that is suspended for its sending domain is read, and looked at again this long after. */
const LOOK_AGAIN_MS = 60_000;

/** Half of all runs have several, each with a mood of its own, which most of them get over. */
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
  /** Destinations that were suspended for the sending domain. */
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
      // All mail of a run has one sending domain, so a suspension for it is one of the destination.
      const { domainId, destination } = partsOfDestination(operator);
      if (domainId !== null) bySender.add(destination);
      const untilMs = Date.parse(until) + (domainId === null ? 0 : LOOK_AGAIN_MS);
      suspensions.set(destination, Math.max(suspensions.get(destination) ?? 0, untilMs));
    },
    suspendedUntilMs: (domain) => suspensions.get(nameOf(domain)) ?? 0,
    expiryLateMs: (domain) => (bySender.has(nameOf(domain)) ? LOOK_AGAIN_MS : 0),
  };
};
