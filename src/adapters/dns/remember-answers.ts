import { type DnsAnswer, ResolverUnavailable } from '../../domain/resolver.ts';
import type { System } from '../../domain/system.ts';
import { createBoundedCache } from '../bounded-cache.ts';
import type { LookedUp } from './look-up.ts';

/** Under a TTL of 0 each of a thousand messages would ask again; longer would overrule what the zone says. */
const TTL_SECONDS_MIN = 5;
/** Longer holds on to records that somebody has repaired; shorter asks for what does not change. */
const TTL_SECONDS_MAX = 3600;
/** What was just published should be seen (and not bounce); shorter asks for each message to a name that is not there. */
const NEGATIVE_SECONDS_MAX = 60;
/** A server that is down is not asked for each of a thousand messages; longer stays blind when it is back. */
const FAILURE_MS = 5000;
/** Of answers as they travelled, and what each costs beside: 40,000 usual ones. Fewer asks more often. */
const CACHE_BYTES_MAX = 32 * 1024 * 1024;
const ENTRY_BYTES = 600;

interface Remembered {
  readonly untilMs: number;
  readonly answer: Promise<DnsAnswer<unknown>>;
}

const keptMs = ({ answer, ttlSeconds }: LookedUp<unknown>): number => {
  const secondsMax = answer.records.length > 0 ? TTL_SECONDS_MAX : NEGATIVE_SECONDS_MAX;
  return Math.min(Math.max(ttlSeconds, TTL_SECONDS_MIN), secondsMax) * 1000;
};

export interface Asked<Found> {
  /** The same for the same question. */
  readonly key: string;
  readonly fresh: boolean;
  readonly lookUp: () => Promise<LookedUp<Found>>;
}

/**
 * Answers for as long as they hold, failures for a moment. Equal questions of the same time are asked once; one that is
 * `fresh` never takes the answer of one that was asked before it.
 */
export const createRememberAnswers = ({ monotonicMs }: Pick<System, 'monotonicMs'>) => {
  const kept = createBoundedCache<Remembered>(CACHE_BYTES_MAX);
  const underWay = new Map<string, Promise<DnsAnswer<unknown>>>();

  const askAnew = <Found>({ key, fresh, lookUp }: Asked<Found>): Promise<DnsAnswer<Found>> => {
    const keep = (ms: number, bytes: number): void => {
      // What was asked later knows better.
      if (underWay.get(key) !== answer) return;
      underWay.delete(key);
      if (ms > 0) kept.set(key, { untilMs: monotonicMs() + ms, answer }, bytes + ENTRY_BYTES);
    };
    const find = async (): Promise<DnsAnswer<Found>> => {
      try {
        const found = await lookUp();
        keep(keptMs(found), found.bytes);
        return found.answer;
      } catch (error) {
        // What was known still holds where only a fresh answer was not to be had.
        keep(error instanceof ResolverUnavailable && !fresh ? FAILURE_MS : 0, 0);
        throw error;
      }
    };
    const answer = find();
    underWay.set(key, answer);
    return answer;
  };

  return <Found>(asked: Asked<Found>): Promise<DnsAnswer<Found>> => {
    const { key, fresh } = asked;
    if (fresh) return askAnew(asked);
    const known = kept.get(key);
    const answer = known !== undefined && monotonicMs() < known.untilMs ? known.answer : underWay.get(key);
    // A key stands for one question, and a question has answers of one kind.
    return (answer as Promise<DnsAnswer<Found>> | undefined) ?? askAnew(asked);
  };
};
