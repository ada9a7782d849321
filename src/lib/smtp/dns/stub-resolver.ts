import { createSocket } from 'node:dgram';
import { getServers } from 'node:dns';
import { connect, isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { createSemaphore, type System } from '../../async/async.ts';
import {
  ALIASES_MAX,
  BadReply,
  encodeQuestion,
  isAskable,
  type Question,
  RCODE,
  type ReadRecord,
  type Reply,
  readAnswer,
  readIpv4,
  readIpv6,
  readMx,
  readReply,
  readTlsa,
  readTxt,
} from './messages.ts';
import {
  type DnsAnswer,
  type HostAddress,
  type QuestionOptions,
  type Resolver,
  ResolverUnavailable,
  registeredName,
} from './resolver.ts';

/** Address of a name server. */
interface NameServer {
  /** IPv4 or IPv6. */
  readonly address: string;
  readonly port: number;
}

const PORT = 53;
/** An IPv6 address with a port must be in brackets. */
const WITH_PORT = /^(?:\[([^[\]]+)\]|([\d.]+))(?::(\d{1,5}))?$/;
const ADDRESS = z.union([z.ipv4(), z.ipv6()]);

/** Reads `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`. The address itself is not validated. */
export const readNameServer = (text: string): NameServer => {
  const [, bracketed, plain, port = PORT] = WITH_PORT.exec(text) ?? [];
  return { address: bracketed ?? plain ?? text, port: Number(port) };
};

export const isNameServer = (text: string): boolean => {
  const { address, port } = readNameServer(text);
  return ADDRESS.safeParse(address).success && port > 0 && port <= 65_535;
};

/**
 * Queries to name servers: by UDP, by TCP if the answer does not fit into a datagram, at the next server on failure.
 */

interface NameServersOptions {
  readonly servers: readonly NameServer[];
  readonly system: Pick<System, 'monotonicMs' | 'randomBytes'>;
  /** Time-out for one exchange by UDP, and for one by TCP. */
  readonly timeoutMs: number;
}

interface NameServers {
  /** The answer says that the name exists or does not; anything else is a failure. @throws {ResolverUnavailable} */
  ask(question: Question): Promise<Reply>;
  /** Aborts the open queries. */
  close(): void;
}

/**
 * Tries for one query, over all servers. More keep the caller waiting (4 x 2 s), fewer give up after a lost datagram.
 */
const TRIES_MAX = 4;
const TRIES_EACH = 2;
/** A server that did not answer is tried last for this long. Longer avoids a server that has recovered. */
const AVOIDED_MS = 10_000;
/**
 * Concurrent queries, each with its own socket. More flood the name server, fewer make thousands of domains wait for
 * slow ones.
 */
const QUESTIONS_MAX = 256;
/**
 * Queries about one registered name, never more than the free capacity. More: slow name servers of one name delay
 * queries about others. Fewer: many records of one name take longer.
 */
const QUESTIONS_PER_NAME_MAX = 64;
/** Waiting queries, a few hundred bytes each. Fewer reject bursts; more would outlast their callers' time-outs. */
const WAITING_MAX = 10_000;
const LENGTH_BYTES = 2;

const ANSWERS: readonly number[] = [RCODE.noError, RCODE.noSuchName];
/** Codes of servers without EDNS (RFC 6891 §7). */
const NOT_UNDERSTOOD: readonly number[] = [RCODE.formatError, RCODE.notImplemented];
const NAMES = new Map([
  [RCODE.formatError, 'FORMERR'],
  [RCODE.serverFailure, 'SERVFAIL'],
  [RCODE.notImplemented, 'NOTIMP'],
  [RCODE.refused, 'REFUSED'],
]);

/** One question to one server. */
interface Exchange {
  readonly server: NameServer;
  readonly message: Buffer;
  /** null: not the answer to this query. */
  readonly read: (message: Buffer) => Reply | null;
  readonly signal: AbortSignal;
}

/**
 * Asks from a socket of its own: its port is one more value that a forger of answers must guess (RFC 5452 §9.2). A
 * connected socket receives datagrams from that server only, and learns at once if no process listens there.
 * @throws {BadReply} if the server's own answer cannot be read.
 */
const askByUdp = ({ server, message, read, signal }: Exchange): Promise<Reply> => {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4');
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  socket.on('error', reject);
  socket.on('message', (datagram) => {
    try {
      const reply = read(datagram);
      if (reply !== null) resolve(reply);
    } catch (error) {
      reject(error);
    }
  });
  socket.connect(server.port, server.address, () => socket.send(message));
  return promise.finally(() => {
    signal.removeEventListener('abort', onAbort);
    socket.close();
  });
};

const withLength = (message: Buffer): Buffer => {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
};

/** The first message on the connection, after its length (RFC 1035 §4.2.2). Anything after it is not read. */
const firstMessage = async (socket: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let end = LENGTH_BYTES;
  for await (const chunk of socket) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes < end) continue;
    const received = Buffer.concat(chunks.splice(0));
    chunks.push(received);
    end = LENGTH_BYTES + received.readUInt16BE(0);
    if (bytes >= end) return received.subarray(LENGTH_BYTES, end);
  }
  throw new BadReply('an answer that breaks off');
};

/**
 * Asks on a connection of its own. @throws {BadReply} if the answer cannot be read, is cut off, or answers something
 * else.
 */
const askByTcp = async ({ server, message, read, signal }: Exchange): Promise<Reply> => {
  const socket = connect({ host: server.address, port: server.port, signal });
  socket.on('connect', () => socket.write(withLength(message)));
  try {
    const reply = read(await firstMessage(socket));
    if (reply === null || reply.truncated) throw new BadReply('an answer to something else');
    return reply;
  } finally {
    socket.destroy();
  }
};

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'AbortError') return 'no answer in time';
  return 'code' in error ? String(error.code) : error.message;
};

/** How one try ended. */
type TryResult = { readonly reply: Reply } | { readonly reply: null; readonly reason: string; readonly edns: boolean };

/** Tries one server after another until one answers. Servers that recently failed to answer come last. */
const createNameServers = ({ servers, system, timeoutMs }: NameServersOptions): NameServers => {
  const questions = createSemaphore({
    capacity: QUESTIONS_MAX,
    share: QUESTIONS_PER_NAME_MAX,
    waitingMax: WAITING_MAX,
    busy: () => new ResolverUnavailable('too many DNS questions wait for an answer'),
  });
  const silentAtMs = new Map<NameServer, number>();
  const open = new Set<AbortController>();
  let isClosed = false;

  const withTimeout = async (
    askBy: (exchange: Exchange) => Promise<Reply>,
    exchange: Omit<Exchange, 'signal'>,
  ): Promise<Reply> => {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), timeoutMs);
    open.add(controller);
    try {
      return await askBy({ ...exchange, signal: controller.signal });
    } finally {
      clearTimeout(timer);
      open.delete(controller);
    }
  };

  /** @throws {BadReply}, and any socket error. */
  const askServer = async (server: NameServer, question: Question, edns: boolean): Promise<Reply> => {
    const id = Buffer.from(system.randomBytes(2)).readUInt16BE();
    const read = (message: Buffer): Reply | null => readReply(message, id, question);
    const exchange = { server, message: encodeQuestion(id, question, edns), read };
    const reply = await withTimeout(askByUdp, exchange);
    return reply.truncated ? withTimeout(askByTcp, exchange) : reply;
  };

  const tryServer = async (server: NameServer, question: Question, edns: boolean): Promise<TryResult> => {
    try {
      const reply = await askServer(server, question, edns);
      if (ANSWERS.includes(reply.rcode)) return { reply };
      const reason = NAMES.get(reply.rcode) ?? `RCODE ${reply.rcode}`;
      return { reply: null, reason, edns: edns && !NOT_UNDERSTOOD.includes(reply.rcode) };
    } catch (error) {
      silentAtMs.set(server, system.monotonicMs());
      return { reply: null, reason: reasonOf(error), edns };
    }
  };

  const isAvoided = (server: NameServer): number =>
    system.monotonicMs() - (silentAtMs.get(server) ?? Number.NEGATIVE_INFINITY) < AVOIDED_MS ? 1 : 0;

  const inOrder = (): readonly NameServer[] => {
    const ordered = servers.toSorted((one, other) => isAvoided(one) - isAvoided(other));
    return Array.from({ length: TRIES_EACH }, () => ordered)
      .flat()
      .slice(0, TRIES_MAX);
  };

  const unavailable = ({ type, name }: Question, reasons: readonly string[]): ResolverUnavailable => {
    const reason = isClosed ? 'the resolver is closed' : [...new Set(reasons)].join(', ');
    return new ResolverUnavailable(`DNS does not answer for ${type} ${name}: ${reason}`);
  };

  const askAll = async (question: Question): Promise<Reply> => {
    const reasons: string[] = [];
    let edns = true;
    for (const server of inOrder()) {
      if (isClosed) break;
      const tried = await tryServer(server, question, edns);
      if (tried.reply !== null) return tried.reply;
      edns = tried.edns;
      reasons.push(tried.reason);
    }
    throw unavailable(question, reasons);
  };

  return {
    ask: (question) => questions.run(() => askAll(question), 1, registeredName(question.name)),
    close: () => {
      isClosed = true;
      for (const controller of open) controller.abort();
    },
  };
};

/**
 * Asks resolvers (never the zones' own servers) over UDP and TCP, and caches the answers. We have our own on top of a
 * packet library, since `node:dns` reports neither the DNSSEC result (AD), nor aliases, nor the TTLs of MX, TXT and
 * TLSA records. AD is trusted as received, so no attacker may be on the path to the resolver (RFC 6698 §A.3); a
 * resolver on this machine is best.
 */

interface StubResolverOptions {
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

interface CacheEntry {
  readonly untilMs: number;
  readonly answer: Promise<DnsAnswer<unknown>>;
}

interface LookupRequest<Found> {
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
  const cache = new LRUCache<string, CacheEntry>({ maxSize: CACHE_BYTES_MAX });
  const underWay = new Map<string, Promise<DnsAnswer<unknown>>>();

  const askAnew = <Found>({ key, fresh, find }: LookupRequest<Found>): Promise<DnsAnswer<Found>> => {
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

  return <Found>(asked: LookupRequest<Found>): Promise<DnsAnswer<Found>> => {
    const { key, fresh } = asked;
    if (fresh) return askAnew(asked);
    const cached = cache.get(key);
    const answer = cached !== undefined && monotonicMs() < cached.untilMs ? cached.answer : underWay.get(key);
    // A key stands for one question, and a question has answers of one kind.
    return (answer as Promise<DnsAnswer<Found>> | undefined) ?? askAnew(asked);
  };
};

type SettledLookup = PromiseSettledResult<DnsAnswer<HostAddress>>;

/**
 * Many servers fail only for AAAA, and their hosts can still be reached by IPv4. Making one of two lookups fail gains
 * an attacker nothing: the remaining answer is still authenticated or not.
 */
const bothFamilies = (four: SettledLookup, six: SettledLookup): DnsAnswer<HostAddress> => {
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
