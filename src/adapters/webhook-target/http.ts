import { isIP } from 'node:net';
import type { Readable } from 'node:stream';
import { Agent, type Dispatcher, request } from 'undici';
import type { Resolver } from '../../domain/ports/resolver.ts';
import type { System } from '../../domain/ports/system.ts';
import type { WebhookAnswer, WebhookPost, WebhookTarget } from '../../domain/ports/webhook-target.ts';
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

export interface HttpWebhookTargetOptions {
  readonly system: Pick<System, 'now' | 'monotonicMs'>;
  /** Plain http and this very machine are allowed too: only while mail is captured. */
  readonly allowLoopback: boolean;
  /** Resolves names. Absent: no names but those of this machine. */
  readonly resolver?: Pick<Resolver, 'addresses'>;
  /** Posts from this IP, to addresses of its kind only. Absent: from any. */
  readonly sourceAddress?: string | undefined;
  /** PEM, shown to endpoints that ask for a client certificate (RFC 8446 §4.4.2). Absent: none is. */
  readonly clientTls?: { readonly cert: string; readonly key: string; readonly ca?: string } | undefined;
  /** Resolves names otherwise. */
  readonly lookupAll?: LookupAll;
}

/** Sockets to one origin: fewer make a busy endpoint wait for round trips, more are a flood to whoever runs it. */
const CONNECTIONS_PER_ORIGIN = 16;
/** TCP and TLS to a working endpoint take less; a dead one should not use up the whole post. */
const CONNECT_TIMEOUT_MS = 5000;
/** Idle sockets are kept this long: shorter reconnects between bursts, longer posts into sockets the other side closed. */
const KEEP_ALIVE_MS = 4000;

const isTimeout = (error: unknown): boolean => error instanceof Error && error.name === 'TimeoutError';

/** Why there was no answer, in words that tell the customer what to look at and nothing about this network. */
const phrase = (error: unknown, { timeoutMs }: WebhookPost): string => {
  if (isTimeout(error)) return `no answer within ${timeoutMs / 1000} s`;
  if (error instanceof AddressRefused) return error.message;
  const { code, message } = error as { code?: unknown; message?: unknown };
  return typeof code === 'string' ? `no answer: ${code}` : `no answer: ${String(message)}`;
};

/** Addresses that a socket bound to this one can connect to. */
const ofKind = (sourceAddress: string | undefined, lookupAll: LookupAll): LookupAll => {
  if (sourceAddress === undefined) return lookupAll;
  return async (host) => {
    const found = (await lookupAll(host)).filter(({ family }) => family === isIP(sourceAddress));
    if (found.length === 0) throw new Error(`${host} has no IPv${isIP(sourceAddress)} address`);
    return found;
  };
};

/** Posts to customers' endpoints over HTTP, never to an address that is not globally routable (SSRF). */
export const createHttpWebhookTarget = (options: HttpWebhookTargetOptions): WebhookTarget => {
  const { system, allowLoopback } = options;
  const reach = { allowLoopback };
  const lookupAll = ofKind(options.sourceAddress, options.lookupAll ?? createLookupAll(reach, options.resolver));
  const agent = new Agent({
    connect: {
      lookup: createGuardedLookup(lookupAll, reach),
      timeout: CONNECT_TIMEOUT_MS,
      ...options.clientTls,
      ...(options.sourceAddress === undefined ? {} : { localAddress: options.sourceAddress }),
    },
    connections: CONNECTIONS_PER_ORIGIN,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
  });

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
      dispatcher: agent,
      signal: AbortSignal.timeout(post.timeoutMs),
    });

  const hostProblem = async (url: URL): Promise<string | null> => {
    if (literalOf(url) !== null) return null; // was checked as it stands
    try {
      await resolveGuarded(lookupAll, url.hostname, reach);
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

    close: () => agent.close(),
  };
};

/** What is kept of an answer: enough for an error message, too little to be worth sending us much. */
const ANSWER_BYTES_MAX = 1024;

/**
 * The first 1 kB of an answer as text; the rest is never read. A body that breaks off or comes too slowly ends where it
 * is: the status was there before it.
 */
export const readBeginning = async (body: Readable): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES_MAX) break; // leaving the loop destroys the stream
    }
  } catch {
    // what came is what is kept
  }
  // NUL can't be stored as text in PostgreSQL.
  return Buffer.concat(chunks).subarray(0, ANSWER_BYTES_MAX).toString('utf8').replaceAll('\0', '\ufffd');
};

const SECOND_MS = 1000;
const DIGITS = /^\d{1,9}$/;

/** `Retry-After` (RFC 9110 §10.2.3): seconds or a date; null where it is neither. Never negative. */
export const retryAfterSeconds = (header: string | readonly string[] | undefined, now: Date): number | null => {
  const text = (typeof header === 'string' ? header : header?.[0])?.trim();
  if (text === undefined) return null;
  if (DIGITS.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now.getTime()) / SECOND_MS));
};
