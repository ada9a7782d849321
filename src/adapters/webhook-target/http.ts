import { isIP, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import { Agent, buildConnector, type Dispatcher, request } from 'undici';
import type { WebhookAnswer, WebhookPost, WebhookTarget } from '../../domain/ports/webhooks.ts';
import type { System } from '../../lib/async/async.ts';
import type { Resolver } from '../../lib/smtp/smtp.ts';
import {
  AddressRefused,
  addressProblem,
  createGuardedLookup,
  createLookupAll,
  type LookupAll,
  literalOf,
  resolveGuarded,
  urlProblem,
} from './guarded-lookup.ts';

/** PEM. */
interface ClientTls {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
}

export interface HttpWebhookTarget extends WebhookTarget {
  /** Presents this certificate on new connections. Open ones end with their current post. */
  useTls(tls: ClientTls): void;
}

export interface HttpWebhookTargetOptions {
  readonly system: Pick<System, 'now' | 'monotonicMs'>;
  /** Plain http and this machine itself are allowed too: only while mail is captured. */
  readonly allowLoopback: boolean;
  /** Resolves names. Absent: only the names of this machine. */
  readonly resolver?: Pick<Resolver, 'addresses'>;
  /** IPs of this machine. Posts come from one of the endpoint's family (IPv4 or IPv6), in turn. Absent: from any. */
  readonly sourceAddresses?: readonly string[] | undefined;
  /** Presented to endpoints that request a client certificate (RFC 8446 §4.4.2). Absent: no certificate. */
  readonly clientTls?: ClientTls | undefined;
  /** Replaces the resolution of names. */
  readonly lookupAll?: LookupAll;
}

/**
 * Sockets of one organization to one origin. Fewer make a busy endpoint wait for round trips, more flood its operator.
 */
const CONNECTIONS_PER_ORIGIN = 16;
/** TCP and TLS to a working endpoint take less. A dead one should not use up the time of the whole post. */
const CONNECT_TIMEOUT_MS = 5000;
/**
 * How long idle sockets are kept. Shorter reconnects between bursts, longer posts into sockets that the other side
 * closed.
 */
const KEEP_ALIVE_MS = 4000;
/**
 * Organizations with sockets of their own. Beyond these, the one that posted longest ago must reconnect. About 1 kB
 * each.
 */
const ORGANIZATIONS_MAX = 1_000;

const isTimeout = (error: unknown): boolean => error instanceof Error && error.name === 'TimeoutError';

/** Why there was no answer, in words that help the customer and reveal nothing about this network. */
const phrase = (error: unknown, { timeoutMs }: WebhookPost): string => {
  if (isTimeout(error)) return `no answer within ${timeoutMs / 1000} s`;
  if (error instanceof AddressRefused) return error.message;
  const { code, message } = error as { code?: unknown; message?: unknown };
  return typeof code === 'string' ? `no answer: ${code}` : `no answer: ${String(message)}`;
};

/** Addresses of these families only: a socket bound to an address connects only to its own family. */
const ofFamilies =
  (families: readonly number[], lookupAll: LookupAll): LookupAll =>
  async (host) => {
    const literal = isIP(host);
    const all = literal === 0 ? await lookupAll(host) : [{ address: host, family: literal }];
    const found = all.filter(({ family }) => families.includes(family));
    if (found.length > 0) return found;
    throw new Error(`${host} has no ${families.map((family) => `IPv${family}`).join(' or ')} address`);
  };

type Connect = buildConnector.connector;

const connected = (connect: Connect, options: buildConnector.Options): Promise<Socket> =>
  new Promise((resolve, reject) => {
    connect(options, (error, socket) => (error === null ? resolve(socket) : reject(error)));
  });

/**
 * Connects from one of the source addresses: of the endpoint's first family, then of its second if that fails.
 * @param connectTo connects to addresses of a family.
 */
const connectFrom = (
  sources: readonly string[],
  lookupAll: LookupAll,
  connectTo: (families: readonly number[]) => Connect,
): Connect => {
  const from = sources.map((localAddress) => {
    const family = isIP(localAddress);
    return { localAddress, family, connect: connectTo([family]) };
  });
  let connections = 0;

  const connectOnce = async (options: buildConnector.Options): Promise<Socket> => {
    const families = new Set((await lookupAll(options.hostname)).map(({ family }) => family));
    connections += 1;
    let failure: unknown;
    for (const family of families) {
      const own = from.filter((source) => source.family === family);
      const { connect, localAddress } = own[connections % own.length] as (typeof own)[number]; // found by `ofFamilies`
      try {
        return await connected(connect, { ...options, localAddress });
      } catch (error) {
        failure ??= error;
      }
    }
    throw failure;
  };

  return (options, callback) => {
    connectOnce(options).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
};

/** Posts to customers' endpoints over HTTP, never to an address that is not globally routable (SSRF). */
export const createHttpWebhookTarget = (options: HttpWebhookTargetOptions): HttpWebhookTarget => {
  const { system, allowLoopback } = options;
  const reach = { allowLoopback };
  const sources = options.sourceAddresses ?? [];
  const families = sources.length === 0 ? [4, 6] : [...new Set(sources.map((source) => isIP(source)))];
  const lookupAll = ofFamilies(families, options.lookupAll ?? createLookupAll(reach, options.resolver));
  const guarded: LookupAll = (host) => resolveGuarded(lookupAll, host, reach);
  const openAgent = (tls: ClientTls | undefined): Agent => {
    const connectTo = (to: readonly number[]): Connect =>
      toleratingContinue(
        buildConnector({
          lookup: createGuardedLookup(ofFamilies(to, lookupAll), reach),
          timeout: CONNECT_TIMEOUT_MS,
          ...tls,
        }),
      );
    return new Agent({
      connect: sources.length === 0 ? connectTo(families) : connectFrom(sources, guarded, connectTo),
      connections: CONNECTIONS_PER_ORIGIN,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
    });
  };
  let clientTls = options.clientTls;
  const closeAgent = (agent: Agent): void => {
    agent.close().catch(() => undefined); // it was closed already: the service stops
  };
  /** One agent for each organization. An evicted agent closes once its posts have ended. */
  const agents = new LRUCache<string, Agent>({ max: ORGANIZATIONS_MAX, dispose: closeAgent });

  const agentOf = (organizationId: string): Agent => {
    const known = agents.get(organizationId);
    if (known !== undefined) return known;
    const agent = openAgent(clientTls);
    agents.set(organizationId, agent);
    return agent;
  };

  const answerOf = async (response: Dispatcher.ResponseData, startedMs: number): Promise<WebhookAnswer> => ({
    status: response.statusCode,
    text: await readBeginning(response.body),
    retryAfterSeconds: retryAfterSeconds(response.headers['retry-after'], system.now()),
    durationMs: system.monotonicMs() - startedMs,
  });

  const send = (post: WebhookPost): Promise<Dispatcher.ResponseData> =>
    request(post.url, {
      method: 'POST',
      headers: { ...post.headers },
      body: post.body,
      dispatcher: agentOf(post.organizationId),
      signal: AbortSignal.timeout(post.timeoutMs),
    });

  const hostProblem = async (url: URL): Promise<string | null> => {
    if (literalOf(url) !== null) return null; // was checked already
    try {
      await guarded(url.hostname);
      return null;
    } catch (error) {
      return error instanceof AddressRefused ? addressProblem(reach) : 'has a host name that does not resolve';
    }
  };

  return {
    problemWith: async (text) => urlProblem(text, reach) ?? (await hostProblem(new URL(text))),

    post: async (post) => {
      const startedMs = system.monotonicMs();
      const refused = (text: string): WebhookAnswer => ({
        status: null,
        text,
        retryAfterSeconds: null,
        durationMs: system.monotonicMs() - startedMs,
      });
      const problem = urlProblem(post.url, reach);
      if (problem !== null) return refused(`the url ${problem}`);
      try {
        return await answerOf(await send(post), startedMs);
      } catch (error) {
        return refused(phrase(error, post));
      }
    },

    useTls: (tls) => {
      clientTls = tls;
      agents.clear();
    },

    close: async () => {
      await Promise.all([...agents.values()].map((agent) => agent.close()));
    },
  };
};

/** Bytes kept of a response: enough for an error message, too few to make sending us more worthwhile. */
const ANSWER_BYTES_MAX = 1024;

/**
 * The first 1 kB of a response as text; the rest is never read. A body that is cut off or too slow ends where it is:
 * the status has already arrived.
 */
const readBeginning = async (body: Readable): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES_MAX) break; // leaving the loop destroys the stream
    }
  } catch {
    // Keep the part that has arrived.
  }
  // NUL can't be stored as text in PostgreSQL.
  return Buffer.concat(chunks).subarray(0, ANSWER_BYTES_MAX).toString('utf8').replaceAll('\0', '\ufffd');
};

const SECOND_MS = 1000;
const DIGITS = /^\d{1,9}$/;

/** `Retry-After` (RFC 9110 §10.2.3): seconds or a date; null if it is neither. Never negative. */
const retryAfterSeconds = (header: string | readonly string[] | undefined, now: Date): number | null => {
  const text = (typeof header === 'string' ? header : header?.[0])?.trim();
  if (text === undefined) return null;
  if (DIGITS.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now.getTime()) / SECOND_MS));
};

/** Status line of an interim response (RFC 9110 §15.2), up to its class. */
const INTERIM = 'HTTP/1.1 1';
const CONTINUE = `${INTERIM}00`;
const PROCESSING = Buffer.from('2'); // the last digit
const [LF, CR] = Buffer.from('\n\r');

const mayBeInterim = (status: string): boolean => INTERIM.startsWith(status) || status.startsWith(INTERIM);

/**
 * Turns each `100 Continue` before a response into `102 Processing`, which undici ignores; it treats a 100 as a fault.
 * The bytes may arrive in any pieces. A piece of a body that begins like a status line is changed too, but only in its
 * text.
 */
const createRewriter = () => {
  let status = '';
  let isInHeaders = false;
  let isLineEmpty = false;

  /** @returns false once the final response has begun. */
  const readStatus = (chunk: Buffer, at: number): boolean => {
    status += chunk.toString('latin1', at, at + 1);
    if (!mayBeInterim(status)) return false;
    if (status.length < CONTINUE.length) return true;
    if (status === CONTINUE) PROCESSING.copy(chunk, at);
    status = '';
    isInHeaders = true;
    isLineEmpty = false;
    return true;
  };

  const readHeaders = (byte: number | undefined): void => {
    if (byte === CR) return;
    if (byte === LF && isLineEmpty) isInHeaders = false;
    isLineEmpty = byte === LF;
  };

  return (chunk: Buffer): void => {
    for (let at = 0; at < chunk.length; at += 1) {
      if (isInHeaders) readHeaders(chunk[at]);
      else if (!readStatus(chunk, at)) {
        status = '';
        return;
      }
    }
  };
};

/** Allows a server to send `100 Continue` unrequested, as a client must (RFC 9110 §15.2.1). */
const toleratingContinue =
  (connect: Connect): Connect =>
  (options, callback) =>
    connect(options, (...result) => {
      const [failure, socket] = result;
      if (failure === null) {
        const read = socket.read.bind(socket);
        const rewrite = createRewriter();
        socket.read = (bytes) => {
          const chunk: unknown = read(bytes);
          if (Buffer.isBuffer(chunk)) rewrite(chunk);
          return chunk;
        };
      }
      callback(...result);
    });
