import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import { createSemaphore, type System } from '../../async/async.ts';
import { BadReply, encodeQuestion, type Question, RCODE, type Reply, readReply } from './messages.ts';
import type { NameServer } from './name-server.ts';
import { registeredName } from './registered-name.ts';
import { ResolverUnavailable } from './resolver.ts';

/**
 * Queries to name servers: by UDP, by TCP if the answer does not fit into a datagram, at the next server on failure.
 */

export interface NameServersOptions {
  readonly servers: readonly NameServer[];
  readonly system: Pick<System, 'monotonicMs' | 'randomBytes'>;
  /** Time-out for one exchange by UDP, and for one by TCP. */
  readonly timeoutMs: number;
}

export interface NameServers {
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
type Tried = { readonly reply: Reply } | { readonly reply: null; readonly reason: string; readonly edns: boolean };

/** Tries one server after another until one answers. Servers that recently failed to answer come last. */
export const createNameServers = ({ servers, system, timeoutMs }: NameServersOptions): NameServers => {
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

  const tryServer = async (server: NameServer, question: Question, edns: boolean): Promise<Tried> => {
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
