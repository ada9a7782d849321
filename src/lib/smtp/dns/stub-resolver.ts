import { getServers } from 'node:dns';
import { LRUCache } from 'lru-cache';
import type { System } from '../../async/async.ts';
import {
  ALIASES_MAX,
  BadReply,
  isAskable,
  type Question,
  type ReadRecord,
  readAnswer,
  readIpv4,
  readIpv6,
  readMx,
  readTlsa,
  readTxt,
} from './messages.ts';
import { type NameServer, readNameServer } from './name-server.ts';
import { createNameServers, type NameServers } from './name-servers.ts';
import {
  type DnsAnswer,
  type HostAddress,
  type QuestionOptions,
  type Resolver,
  ResolverUnavailable,
} from './resolver.ts';

/**
 * Asks resolvers (never the zones' own servers) over UDP and TCP, and caches what they say. It is ours, on top of a
 * library for packets alone, since `node:dns` tells neither what DNSSEC has proved (AD), nor aliases, nor how long MX,
 * TXT and TLSA records hold. AD is believed as it comes: nobody else may write on the way to the resolver (RFC 6698
 * §A.3), so one on this machine is best.
 */

export interface StubResolverOptions {
  readonly system: Pick<System, 'monotonicMs' | 'randomBytes'>;
  /** Resolvers, the first one first. None: the machine's own. */
  readonly servers?: readonly NameServer[];
  /** Of one try. Shorter gives up on slow but working servers, longer keeps the caller waiting. */
  readonly timeoutMs?: number;
}

export interface StubResolver extends Resolver {
  close(): Promise<void>;
}

const TIMEOUT_MS = 2000;

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

/** A name that cannot be asked for is the name of nothing. */
const NOTHING = { records: [], exists: false, authenticated: false, aliases: [] } as const;

/** An answer, and what caching it is worth and costs. */
interface LookedUp<Found> {
  readonly answer: DnsAnswer<Found>;
  /** As the records say. */
  readonly ttlSeconds: number;
  readonly bytes: number;
}

/** What two answers, of a name and of the alias it ended in, say together. */
const together = <Found>(first: LookedUp<Found>, then: LookedUp<Found>): LookedUp<Found> => ({
  answer: {
    ...then.answer,
    authenticated: first.answer.authenticated && then.answer.authenticated,
    aliases: [...first.answer.aliases, ...then.answer.aliases],
  },
  ttlSeconds: Math.min(first.ttlSeconds, then.ttlSeconds),
  bytes: first.bytes + then.bytes,
});

/** Asks, and asks again where an answer ends in an alias and does not say what that has. @throws {BadReply} */
const follow = async <Found>(
  { ask }: Pick<NameServers, 'ask'>,
  question: Question,
  read: ReadRecord<Found>,
  aliasesMax = ALIASES_MAX,
): Promise<LookedUp<Found>> => {
  const reply = await ask(question);
  const { answer, ttls, isOpen } = readAnswer(reply, question.name, read);
  const found = { answer, ttlSeconds: Math.min(...ttls), bytes: reply.bytes };
  const left = aliasesMax - answer.aliases.length;
  if (left < 0) throw new BadReply('it leads in a circle, or over too many aliases');
  const end = answer.aliases.at(-1);
  if (end === undefined || !isOpen) return found;
  if (!isAskable(end)) throw new BadReply('it is an alias of what is no name');
  return together(found, await follow({ ask }, { ...question, name: end }, read, left));
};

/** @throws {ResolverUnavailable} */
const lookUp = async <Found>(
  servers: NameServers,
  question: Question,
  read: ReadRecord<Found>,
): Promise<LookedUp<Found>> => {
  try {
    return await follow(servers, question, read);
  } catch (error) {
    if (!(error instanceof BadReply)) throw error;
    const { type, name } = question;
    throw new ResolverUnavailable(`DNS does not answer for ${type} ${name}: ${error.message}`, { cause: error });
  }
};

const keptMs = ({ answer, ttlSeconds }: LookedUp<unknown>): number => {
  const secondsMax = answer.records.length > 0 ? TTL_SECONDS_MAX : NEGATIVE_SECONDS_MAX;
  return Math.min(Math.max(ttlSeconds, TTL_SECONDS_MIN), secondsMax) * 1000;
};

interface Cached {
  readonly untilMs: number;
  readonly answer: Promise<DnsAnswer<unknown>>;
}

interface Asked<Found> {
  /** The same for the same question. */
  readonly key: string;
  readonly fresh: boolean;
  readonly find: () => Promise<LookedUp<Found>>;
}

/**
 * Answers for as long as they hold, failures for a moment. Equal questions of the same time are asked once; one that is
 * `fresh` never takes the answer of one that was asked before it.
 */
const createAnswerCache = ({ monotonicMs }: Pick<System, 'monotonicMs'>) => {
  const cache = new LRUCache<string, Cached>({ maxSize: CACHE_BYTES_MAX });
  const underWay = new Map<string, Promise<DnsAnswer<unknown>>>();

  const askAnew = <Found>({ key, fresh, find }: Asked<Found>): Promise<DnsAnswer<Found>> => {
    const keep = (ms: number, bytes: number): void => {
      // What was asked later knows better.
      if (underWay.get(key) !== answer) return;
      underWay.delete(key);
      if (ms > 0) cache.set(key, { untilMs: monotonicMs() + ms, answer }, { size: bytes + ENTRY_BYTES });
    };
    const findAndKeep = async (): Promise<DnsAnswer<Found>> => {
      try {
        const found = await find();
        keep(keptMs(found), found.bytes);
        return found.answer;
      } catch (error) {
        // What was known still holds where only a fresh answer was not to be had.
        keep(error instanceof ResolverUnavailable && !fresh ? FAILURE_MS : 0, 0);
        throw error;
      }
    };
    const answer = findAndKeep();
    underWay.set(key, answer);
    return answer;
  };

  return <Found>(asked: Asked<Found>): Promise<DnsAnswer<Found>> => {
    const { key, fresh } = asked;
    if (fresh) return askAnew(asked);
    const cached = cache.get(key);
    const answer = cached !== undefined && monotonicMs() < cached.untilMs ? cached.answer : underWay.get(key);
    // A key stands for one question, and a question has answers of one kind.
    return (answer as Promise<DnsAnswer<Found>> | undefined) ?? askAnew(asked);
  };
};

type Settled = PromiseSettledResult<DnsAnswer<HostAddress>>;

/**
 * Many servers fail at AAAA alone, and their hosts are reached by IPv4 all the same. Making one of two questions fail
 * gains an attacker nothing: what is left is authenticated or it is not.
 */
const bothFamilies = (four: Settled, six: Settled): DnsAnswer<HostAddress> => {
  const known = [four, six].flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const records = known.flatMap((each) => each.records);
  const failed = [four, six].find((each) => each.status === 'rejected');
  // A name that does not exist has no records of any type (RFC 8020 §2).
  const isKnown = records.length > 0 || known.some(({ exists }) => !exists);
  if (failed !== undefined && !isKnown) throw failed.reason;
  return {
    records,
    exists: known.some(({ exists }) => exists),
    authenticated: known.every(({ authenticated }) => authenticated),
    aliases: known.find(({ aliases }) => aliases.length > 0)?.aliases ?? [],
  };
};

/** The resolver of the service. Every answer comes from its cache while it holds. */
export const createStubResolver = (options: StubResolverOptions): StubResolver => {
  const { system, timeoutMs = TIMEOUT_MS } = options;
  const given = options.servers ?? [];
  const servers = createNameServers({
    servers: given.length > 0 ? given : getServers().map(readNameServer),
    system,
    timeoutMs,
  });
  const cached = createAnswerCache(system);
  let isClosed = false;

  const asker =
    <Found>(type: Question['type'], read: ReadRecord<Found>) =>
    async (host: string, { fresh = false }: QuestionOptions = {}): Promise<DnsAnswer<Found>> => {
      if (isClosed) throw new ResolverUnavailable('the resolver is closed');
      const question = { name: host.toLowerCase().replace(/\.$/, ''), type };
      if (!isAskable(question.name)) return NOTHING;
      return cached({ key: `${type} ${question.name}`, fresh, find: () => lookUp(servers, question, read) });
    };

  const ipv4 = asker('A', readIpv4);
  const ipv6 = asker('AAAA', readIpv6);
  return {
    txt: asker('TXT', readTxt),
    mx: asker('MX', readMx),
    tlsa: asker('TLSA', readTlsa),
    addresses: async (host, asked) => {
      const [four, six] = await Promise.allSettled([ipv4(host, asked), ipv6(host, asked)]);
      return bothFamilies(four, six);
    },
    close: async () => {
      isClosed = true;
      servers.close();
    },
  };
};
