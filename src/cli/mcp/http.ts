import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createShares, type Place } from '../../lib/async/async.ts';
import { CommandFailed, EXIT } from '../terminal.ts';

/**
 * Streamable HTTP on loopback (MCP 2025-06-18, Transports). Every request carries its own key, and a session can be
 * used only with the key that opened it. Web pages in the person's browser can reach loopback too, through a DNS name
 * that resolves there, so `Host` and any `Origin` must be loopback.
 */

const HOST = '127.0.0.1';
const PATH = '/mcp';
/** Each session takes about 100 kB. */
const SESSIONS_MAX = 100;
/** Higher: a few keys can use up all sessions. Lower: a person with many agents is rejected. */
export const SESSIONS_PER_KEY_MAX = 20;
/** Higher: a few organizations can use up all sessions. Lower: organizations with many agents and keys are rejected. */
export const SESSIONS_PER_ORGANIZATION_MAX = 50;
/** Idle sessions end after this time; the client opens another. */
const IDLE_MS = 30 * 60_000;
const SWEEP_MS = 60_000;
const CONNECTIONS_MAX = 256;
const BODY_BYTES_MAX = 4_000_000;
const NAMES = ['127.0.0.1', 'localhost', '[::1]'];
const BEARER = /^Bearer +(ob_[A-Za-z0-9_]{1,200}) *$/i;

interface Session {
  readonly transport: StreamableHTTPServerTransport;
  readonly keyDigest: string;
  readonly place: Place;
  usedMs: number;
  /** Number of requests in progress, including streams. */
  open: number;
}

const digestOf = (key: string): string => createHash('sha256').update(key).digest('base64');

const refuse = (response: ServerResponse, status: number, message: string): void => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } });
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
  });
  response.end(body);
};

/** A request that no session answers. */
class RejectedRequest extends Error {
  override readonly name = 'RejectedRequest';
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Converts an error to a response. */
const rejectionOf = (error: unknown): RejectedRequest => {
  if (error instanceof RejectedRequest) return error;
  if (!(error instanceof CommandFailed)) return new RejectedRequest(500, 'internal error');
  return new RejectedRequest(error.exitCode === EXIT.unauthorized ? 401 : 502, error.message);
};

/** @throws {RejectedRequest} if the request is for another host, from another site or for another path. */
const requireOwnMachine = ({ headers, url = '' }: IncomingMessage, port: number): void => {
  const hosts = NAMES.map((name) => `${name}:${port}`);
  if (!hosts.includes(headers.host ?? '')) throw new RejectedRequest(403, 'the Host header must name this machine');
  const { origin } = headers;
  if (origin !== undefined && !hosts.some((host) => origin === `http://${host}`))
    throw new RejectedRequest(403, 'the Origin header must name this machine');
  if (new URL(url, `http://${HOST}`).pathname !== PATH)
    throw new RejectedRequest(404, `not found: the only path is ${PATH}`);
};

export interface HttpOptions {
  /** 0: any free port. */
  readonly port: number;
  /**
   * A server with the key's permissions, and its organization.
   * @throws {CommandFailed} if the service rejects the key.
   */
  serverFor(key: string): Promise<{ readonly server: McpServer; readonly organizationId: string }>;
}

/** @throws {CommandFailed} if the port is in use. */
export const serveHttp = async ({ port, serverFor }: HttpOptions) => {
  const sessions = new Map<string, Session>();
  const places = createShares({ max: SESSIONS_MAX, shares: { key: SESSIONS_PER_KEY_MAX } });
  const organizations = createShares({ max: SESSIONS_MAX, shares: { organization: SESSIONS_PER_ORGANIZATION_MAX } });

  const end = async (id: string): Promise<void> => {
    const session = sessions.get(id);
    sessions.delete(id);
    session?.place.release();
    await session?.transport.close();
  };
  const endIdle = (now: number): void => {
    for (const [id, { usedMs, open }] of sessions) if (open === 0 && now - usedMs > IDLE_MS) void end(id);
  };

  /** @throws {RejectedRequest} the organization has too many sessions open. */
  const takeOrganizationPlace = (organization: string): Place => {
    const place = organizations.take({ organization });
    if (!('full' in place)) return place;
    throw new RejectedRequest(429, 'this organization has too many open sessions: close some, or try again later');
  };

  const begin = async (key: string, keyPlace: Place): Promise<Session> => {
    const { server, organizationId } = await serverFor(key);
    const organizationPlace = takeOrganizationPlace(organizationId);
    const release = (): void => {
      keyPlace.release();
      organizationPlace.release();
    };
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      maxRequestBodySize: BODY_BYTES_MAX,
      onsessioninitialized: (id) => void sessions.set(id, session),
      onsessionclosed: end,
    });
    const session: Session = {
      transport,
      keyDigest: digestOf(key),
      place: { release },
      usedMs: performance.now(),
      open: 0,
    };
    // The library's types do not support exactOptionalPropertyTypes.
    await server.connect(transport as Parameters<McpServer['connect']>[0]).catch((error: unknown) => {
      release();
      throw error;
    });
    return session;
  };

  /** Finds a session. A session of another key is reported as missing. */
  const known = (id: string, key: string): Session => {
    const session = sessions.get(id);
    if (session?.keyDigest === digestOf(key)) return session;
    throw new RejectedRequest(404, 'session not found: initialize a new one');
  };

  /** @throws {RejectedRequest} if too many sessions are open, for this key or in total. */
  const placeFor = (key: string): Place => {
    const place = places.take({ key: digestOf(key) });
    if (!('full' in place)) return place;
    if (place.full === 'all') throw new RejectedRequest(503, 'too many open sessions: try again later');
    throw new RejectedRequest(429, 'this key has too many open sessions: close some, or try again later');
  };

  /** Finds or opens the session for a request. @throws {RejectedRequest} */
  const sessionOf = async ({ headers, method }: IncomingMessage, key: string): Promise<Session> => {
    const id = headers['mcp-session-id'];
    if (typeof id === 'string') return known(id, key);
    if (method !== 'POST') throw new RejectedRequest(404, 'no session: initialize one first');
    endIdle(performance.now());
    const place = placeFor(key);
    return await begin(key, place).catch((error: unknown) => {
      place.release();
      throw error;
    });
  };

  /** Counts open responses: a session with one is not idle. */
  const watch = (session: Session, response: ServerResponse): void => {
    session.open += 1;
    session.usedMs = performance.now();
    response.once('close', () => {
      session.open -= 1;
      session.usedMs = performance.now();
      // A transport that opened no session closes with its request.
      if (session.transport.sessionId !== undefined) return;
      session.place.release();
      void session.transport.close();
    });
  };

  const answer = async (request: IncomingMessage, response: ServerResponse, own: number): Promise<void> => {
    requireOwnMachine(request, own);
    const [, key] = BEARER.exec(request.headers.authorization ?? '') ?? [];
    if (key === undefined) throw new RejectedRequest(401, 'each request needs an API key: Authorization: Bearer ob_…');
    const session = await sessionOf(request, key);
    watch(session, response);
    await session.transport.handleRequest(request, response);
  };

  const fail = (response: ServerResponse, error: unknown): void => {
    const { status, message } = rejectionOf(error);
    if (response.headersSent) response.destroy();
    else refuse(response, status, message);
  };

  const http = createServer((request, response) => {
    const { port: own } = http.address() as AddressInfo;
    answer(request, response, own).catch((error: unknown) => fail(response, error));
  });
  http.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    http.once('error', (error: NodeJS.ErrnoException) =>
      reject(new CommandFailed(`cannot listen on port ${port} (${error.code}): choose another port`)),
    );
    http.listen(port, HOST, resolve);
  });
  const sweeping = setInterval(() => endIdle(performance.now()), SWEEP_MS);
  return {
    url: `http://${HOST}:${(http.address() as AddressInfo).port}${PATH}`,
    close: async (): Promise<void> => {
      clearInterval(sweeping);
      await Promise.all([...sessions.keys()].map(end));
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
};
