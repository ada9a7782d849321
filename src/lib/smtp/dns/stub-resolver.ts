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
 * Asks resolvers (never the zones' own servers) over UDP and TCP, and caches the answers. We have our own on top of a
 * packet library, since `node:dns` reports neither the DNSSEC result (AD), nor aliases, nor the TTLs of MX, TXT and
 * TLSA records. AD is trusted as received, so no attacker may be on the path to the resolver (RFC 6698 §A.3); a
 * resolver on this machine is best.
 */

export interface StubResolverOptions {
  readonly system: Pick<System, 'monotonicMs' | 'randomBytes'>;
  /** Resolvers in order of preference. Absent: the machine's own. */
  readonly servers?: readonly NameServer[];
  /** Time-out for one try. Shorter gives up on slow but working servers, longer keeps the caller waiting. */
  readonly timeoutMs?: number;
}

export interface StubResolver extends Resolver {
  close(): Promise<void>;
}

const TIMEOUT_MS = 2000;

/** With a TTL of 0, each of a thousand messages would ask again; a longer minimum would override the zone's TTL. */
const TTL_SECONDS_MIN = 5;
/** Longer keeps records that have been fixed since; shorter repeats queries for records that do not change. */
const TTL_SECONDS_MAX = 3600;
/**
 * Newly published names should be seen soon (and not bounce). Shorter queries a missing name again for each message.
 */
const NEGATIVE_SECONDS_MAX = 60;
/** Avoids asking a server that is down for each of a thousand messages. Longer delays recovery when it is back. */
const FAILURE_MS = 5000;
/**
 * Size of the cached answers in wire format, plus an overhead per entry: 40,000 usual ones. Fewer are queried more
 * often.
 */
const CACHE_BYTES_MAX = 32 * 1024 * 1024;
const ENTRY_BYTES = 600;

/** Names that cannot be encoded in a DNS query do not exist. */
const NOTHING = { records: [], exists: false, authenticated: false, aliases: [] } as const;

/** An answer with the lifetime and size of its cache entry. */
interface LookedUp<Found> {
  readonly answer: DnsAnswer<Found>;
  /** TTL of the records. */
  readonly ttlSeconds: number;
  readonly bytes: number;
}

/** Combines the answers for a name and for the alias it ended in. */
const together = <Found>(first: LookedUp<Found>, then: LookedUp<Found>): LookedUp<Found> => ({
  answer: {
    ...then.answer,
    authenticated: first.answer.authenticated && then.answer.authenticated,
    aliases: [...first.answer.aliases, ...then.answer.aliases],
  },
  ttlSeconds: Math.min(first.ttlSeconds, then.ttlSeconds),
  bytes: first.bytes + then.bytes,
});

/** Asks, and asks again if an answer ends in an alias without its records. @throws {BadReply} */
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
  /** Equal for equal questions. */
  readonly key: string;
  readonly fresh: boolean;
  readonly find: () => Promise<LookedUp<Found>>;
}

/**
 * Caches answers for their TTL, and failures for a short time. Equal concurrent questions are asked once. A `fresh`
 * question never uses the answer to one that was asked before it.
 */
const createAnswerCache = ({ monotonicMs }: Pick<System, 'monotonicMs'>) => {
  const cache = new LRUCache<string, Cached>({ maxSize: CACHE_BYTES_MAX });
  const underWay = new Map<string, Promise<DnsAnswer<unknown>>>();

  const askAnew = <Found>({ key, fresh, find }: Asked<Found>): Promise<DnsAnswer<Found>> => {
    const keep = (ms: number, bytes: number): void => {
      // A later question has the newer answer.
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
        // A cached answer stays valid if only the fresh lookup failed.
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
 * Many servers fail only for AAAA, and their hosts can still be reached by IPv4. Making one of two lookups fail gains
 * an attacker nothing: the remaining answer is still authenticated or not.
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

/** The resolver of the service. Answers come from its cache while they are valid. */
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
