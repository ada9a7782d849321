import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import { SMTPServer, type SMTPServerAddress, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import { createShares, type Full, type Logger, type Place, type Shares } from '../../async/async.ts';

/**
 * Bounds the connections of an SMTP listener, and their duration. A connection counts towards its network until it is
 * authenticated, and towards its organization from then on. At a bound, an idle connection is closed for the new one:
 * first one that has not authenticated. If all are receiving messages, one whose client sends very slowly is closed. A
 * new connection is rejected only if no such connection exists.
 */

/** The client's end of a connection. */
interface Peer {
  readonly remoteAddress: string;
  readonly remotePort: number;
}

type Session = Peer & { readonly id: string };

/** Bounds of a listener's connections. */
export interface ConnectionBounds {
  /** Concurrent connections in total. */
  readonly max: number;
  /** Unauthenticated connections from one client network. */
  readonly perNetwork: number;
  /** Authenticated connections of one organization. Absent: there is no authentication. */
  readonly perOrganization?: number;
  /** Time from connecting to authentication; absent: none is required. */
  readonly authMs?: number;
  /** Longest duration of a connection, however busy it is. */
  readonly durationMs: number;
}

/** Text of a 421 reply: the connection is closed after it. */
type Refusal = string;

interface Connections {
  /** A session begins. @returns null if it may continue. */
  enter(session: Session): Refusal | null;
  /**
   * Ends the time limit for authentication, and counts the connection towards its organization. @returns null if it may
   * continue.
   */
  authenticated(peer: Peer, organizationId: string): Refusal | null;
  /** Records activity: the connection is idle from now on. */
  used(peer: Peer): void;
  /** The connection receives a message, so it is not idle. @returns functions to call when the message has arrived, and at its end. */
  receives(peer: Peer): { readonly arrived: () => void; readonly ended: () => void };
  /** Closes the connection at once. */
  end(peer: Peer): void;
}

interface Connection {
  readonly socket: Socket;
  readonly network: string;
  /** null: the connection was rejected or dismissed, and is about to be closed. */
  place: Place | null;
  /** null: not authenticated. */
  organizationId: string | null;
  /** null: the greeting waits for TLS. */
  session: Session | null;
  refusal: Refusal | null;
  /** When the message began to arrive, and how much the client had sent by then; null: none is arriving. */
  arriving: { readonly sinceMs: number; readonly bytes: number } | null;
  readonly timers: NodeJS.Timeout[];
}

/** Ends TLS before its socket. Destroying only the socket in the middle of a handshake crashes Node 24. */
const endSocket = (socket: Socket): void => {
  socket.emit('close', false);
  socket.destroy();
};

/**
 * Lets a client end its side while its message is processed, and still get the reply. Exim does that: it sends QUIT with the
 * final dot and shuts down. `smtp-server` replies only to sockets that call themselves open.
 */
const keepOpenForReply = (socket: Socket): void => {
  socket.allowHalfOpen = true;
  Object.defineProperty(socket, 'readyState', {
    configurable: true,
    get: () => (socket.writable ? 'open' : 'closed'),
  });
};

/** Ends the socket of a client that has ended its side. */
const endIfHalfOpen = (socket: Socket): void => {
  socket.allowHalfOpen = false;
  Reflect.deleteProperty(socket, 'readyState');
  if (socket.readableEnded) socket.end();
};

/** Delay before a socket that has just got TLS is ended: in the same turn, that crashes Node 24. */
const NEW_TLS_MS = 50;
/** Time for a client to read why its connection is closed. Longer lets it occupy a socket. */
const CLOSING_MS = 2_000;

const REFUSALS: Readonly<Record<Full<'network'>['full'], Refusal>> = {
  network: '4.7.0 too many connections from this network: close some, or try again in a minute',
  all: '4.3.2 too many connections are open: try again in a minute',
};
const ORGANIZATION_FULL: Refusal =
  '4.7.0 too many connections are sending for this organization: close some, or try again in a minute';
const IDLE: Refusal = '4.3.2 this connection was idle and was closed for a new one: connect again';

const SLOW: Refusal = '4.3.2 this message arrived too slowly and others were waiting: send it again';

/** Shorter: a good client that pauses loses its message when others wait. Longer: slow clients hold all places so long. */
const SLOW_AFTER_MS = 10_000;
/** Higher: ends clients on weak links when all places are taken. Lower: clients that send byte by byte hold all places. */
const SLOW_BYTES_PER_SECOND = 1_000;

/** Sockets and sessions spell the same address in several ways. */
const nameOf = ({ remoteAddress = '', remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string =>
  `${ipaddr.isValid(remoteAddress) ? ipaddr.process(remoteAddress) : ''} ${remotePort}`;

interface Bounding {
  monotonicMs(): number;
  /** The network to which an address is counted. */
  networkOf(address: string): string;
  /** Replies with 421, and closes the session. */
  dismiss(session: Session, refusal: Refusal): void;
}

/** Bounds the connections of a listener. Sockets are ended from here, so nothing a client sends can delay that. */
const boundConnections = (
  server: Server,
  { max, perNetwork, perOrganization = 0, authMs, durationMs }: ConnectionBounds,
  { networkOf, dismiss, monotonicMs }: Bounding,
): Connections => {
  const connections = new Map<string, Connection>();
  /** Connections not receiving a message, those silent longest first. */
  const idle = new Set<Connection>();
  /** Connections with a message that arrives, those that began first first. */
  const arriving = new Set<Connection>();
  const strangers: Shares<'network'> = createShares({ max, shares: { network: perNetwork } });
  const members = createShares({ max, shares: { organization: perOrganization } });
  /**
   * Sockets that stay open until their client has its reply. Without a place here, a socket is ended without a reply.
   */
  const closing = createShares({ max, shares: { network: perNetwork } });

  const end = (connection: Connection): void => endSocket(connection.socket);

  const releasePlace = (connection: Connection): void => {
    connection.place?.release();
    connection.place = null;
    idle.delete(connection);
    arriving.delete(connection);
  };

  /** Replies to the client and ends its socket. @returns false if there is no time for a reply. */
  const leave = (connection: Connection): boolean => {
    releasePlace(connection);
    const place = closing.take({ network: connection.network });
    const hasTime = !('full' in place);
    if (hasTime) connection.socket.once('close', place.release);
    connection.timers.push(setTimeout(end, hasTime ? CLOSING_MS : NEW_TLS_MS, connection).unref());
    return hasTime;
  };

  /** Ends a connection without a session, and so without a reply: its TLS handshake is not complete. */
  const endSilent = (connection: Connection): void => {
    releasePlace(connection);
    connection.timers.push(setTimeout(end, NEW_TLS_MS, connection).unref());
  };

  const close = (connection: Connection, refusal: Refusal): void => {
    connection.refusal = refusal;
    if (leave(connection) && connection.session !== null) dismiss(connection.session, refusal);
  };

  /** @returns true if one was closed. */
  const closeIdle = (isWanted: (connection: Connection) => boolean): boolean => {
    const connection = idle.values().find(isWanted);
    if (connection === undefined) return false;
    if (connection.session === null) endSilent(connection);
    else close(connection, IDLE);
    return true;
  };

  const isSlow = ({ socket, arriving: since }: Connection): boolean => {
    if (since === null) return false;
    const seconds = (monotonicMs() - since.sinceMs) / 1_000;
    return seconds * 1_000 > SLOW_AFTER_MS && socket.bytesRead - since.bytes < seconds * SLOW_BYTES_PER_SECOND;
  };

  /** @returns true if one was closed. */
  const closeSlow = (isWanted: (connection: Connection) => boolean): boolean => {
    const connection = arriving.values().find((one) => isWanted(one) && isSlow(one));
    if (connection !== undefined) close(connection, SLOW);
    return connection !== undefined;
  };

  /** Takes a place, after closing an idle or slow connection if necessary. */
  const takePlace = <Owner extends string>(
    take: () => Place | Full<Owner>,
    isOfOwner: (connection: Connection) => boolean,
  ): Place | Full<Owner> => {
    const place = take();
    return 'full' in place && (closeIdle(isOfOwner) || closeSlow(isOfOwner)) ? take() : place;
  };

  const isStranger = ({ organizationId }: Connection): boolean => organizationId === null;
  const hasRoom = (): boolean =>
    strangers.size() + members.size() < max ||
    closeIdle(isStranger) ||
    closeIdle(() => true) ||
    closeSlow(isStranger) ||
    closeSlow(() => true);

  const admit = (network: string): Place | Full<'network'> =>
    hasRoom()
      ? takePlace(
          () => strangers.take({ network }),
          (one) => isStranger(one) && one.network === network,
        )
      : { full: 'all' };

  server.on('connection', (socket) => {
    const name = nameOf(socket);
    const network = networkOf(socket.remoteAddress ?? '');
    const connection: Connection = {
      socket,
      network,
      place: null,
      organizationId: null,
      session: null,
      refusal: null,
      arriving: null,
      timers: [],
    };
    connections.set(name, connection);
    socket.once('close', () => {
      for (const timer of connection.timers) clearTimeout(timer);
      releasePlace(connection);
      if (connections.get(name) === connection) connections.delete(name);
    });
    const place = admit(network);
    if ('full' in place) return close(connection, REFUSALS[place.full]);
    connection.place = place;
    idle.add(connection);
    connection.timers.push(setTimeout(end, durationMs, connection).unref());
    if (authMs === undefined) return;
    const tooLate = (): void => void (isStranger(connection) && end(connection));
    connection.timers.push(setTimeout(tooLate, authMs).unref());
  });

  const find = (peer: Peer): Connection | undefined => connections.get(nameOf(peer));

  const used = (connection: Connection | undefined): void => {
    if (connection === undefined || connection.place === null) return;
    idle.delete(connection);
    idle.add(connection);
  };

  return {
    enter: (session) => {
      const connection = find(session);
      if (connection === undefined) return REFUSALS.all; // it has gone
      connection.session = session;
      return connection.refusal;
    },
    authenticated: (peer, organizationId) => {
      const connection = find(peer);
      if (connection === undefined || connection.place === null) return IDLE;
      used(connection);
      if (connection.organizationId === organizationId) return null; // again after STARTTLS
      connection.place.release();
      const place = takePlace(
        () => members.take({ organization: organizationId }),
        (one) => one.organizationId === organizationId,
      );
      if ('full' in place) {
        leave(connection);
        return ORGANIZATION_FULL;
      }
      connection.place = place;
      connection.organizationId = organizationId;
      return null;
    },
    used: (peer) => used(find(peer)),
    receives: (peer) => {
      const connection = find(peer);
      if (connection !== undefined) {
        idle.delete(connection);
        connection.arriving = { sinceMs: monotonicMs(), bytes: connection.socket.bytesRead };
        arriving.add(connection);
        keepOpenForReply(connection.socket);
      }
      const arrived = (): void => {
        if (connection === undefined) return;
        connection.arriving = null;
        arriving.delete(connection);
      };
      return {
        arrived,
        ended: () => {
          arrived();
          used(connection);
          if (connection === undefined) return;
          // After the replies to what the client has sent, unless that is another message.
          setImmediate(() => idle.has(connection) && endIfHalfOpen(connection.socket));
        },
      };
    },
    end: (peer) => {
      const connection = find(peer);
      if (connection !== undefined) end(connection);
    },
  };
};

/** A negative reply as `smtp-server` expects it. @param text begins with the enhanced code (RFC 3463). */
export const smtpAnswer = (responseCode: number, text: string): Error =>
  Object.assign(new Error(text), { responseCode });

/** PEM. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** Behaviour of a listener's connections. */
export interface SmtpTask {
  /**
   * `RCPT TO:a@b` means `RCPT TO:<a@b>`, as devices and scripts write it. Absent: it is a syntax error (RFC 5321
   * §4.1.1.3).
   */
  readonly acceptsBareAddresses?: true;
  readonly bounds: ConnectionBounds;
  /** Name, limits and the handler of each command. */
  serve(connections: Pick<Connections, 'authenticated' | 'end'>): SMTPServerOptions;
}

interface SmtpListenerOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Absent: STARTTLS is not offered. */
  readonly tls?: TlsPair | undefined;
  /** `implicit`: from the first byte on (RFC 8314 §3), which needs a pair; otherwise by STARTTLS (RFC 3207). */
  readonly tlsBegins?: 'implicit' | 'asked';
  /** The network to which a client's address is counted. */
  networkOf(address: string): string;
  readonly logger: Logger;
  /** Default: the clock of the process. */
  readonly monotonicMs?: () => number;
}

export interface SmtpListener {
  readonly port: number;
  /** Takes effect from the next connection on. */
  useTls(tls: TlsPair): void;
  /** Stops accepting connections, and ends the open ones within the task's `closeTimeout`. */
  close(): Promise<void>;
}

type Envelopes = Pick<SMTPServerOptions, 'onMailFrom' | 'onRcptTo' | 'onData'>;
type Handlers = Pick<SMTPServerOptions, 'onConnect' | 'onMailFrom' | 'onRcptTo' | 'onData'>;

/** Rejects connections beyond the bounds, and records which ones are idle. */
const counted = (task: Handlers, connections: () => Connections): Handlers => ({
  onConnect: (session, callback) => {
    const refusal = connections().enter(session);
    if (refusal !== null) return callback(smtpAnswer(421, refusal));
    if (task.onConnect === undefined) return callback();
    task.onConnect(session, callback);
  },
  onMailFrom: (address, session, callback) => {
    connections().used(session);
    task.onMailFrom?.(address, session, callback);
  },
  onRcptTo: (address, session, callback) => {
    connections().used(session);
    task.onRcptTo?.(address, session, callback);
  },
  ...(task.onData === undefined
    ? {}
    : {
        onData: (stream, session, callback) => {
          const { arrived, ended } = connections().receives(session);
          stream.once('end', arrived);
          task.onData?.(stream, session, (...reply) => {
            ended();
            callback(...reply);
          });
        },
      }),
});

/** Parameters of the offered extensions (RFC 1870, 3461, 4954, 6152, 6531, 8689). Their values are checked later. */
const MAIL_PARAMETERS = new Set(['SIZE', 'BODY', 'SMTPUTF8', 'RET', 'ENVID', 'AUTH', 'REQUIRETLS']);
const RCPT_PARAMETERS = new Set(['NOTIFY', 'ORCPT']);

/** RFC 5321 §4.1.1.11: ignoring an unknown parameter would ignore the client's request. */
const unknownParameter = ({ args }: SMTPServerAddress, known: ReadonlySet<string>): Error | null => {
  const unknown = Object.keys(args || {}).find((name) => !known.has(name));
  if (unknown === undefined) return null;
  return smtpAnswer(555, `5.5.4 the parameter ${unknown.replace(/[^!-~]/g, '?').slice(0, 100)} is not supported`);
};

/** Printable ASCII in quotes, per RFC 5321 §4.1.2. */
const QUOTED_LOCAL = /^"(?:[ !#-;=?-[\]-~]|\\[ -;=?-~])+"$/;
const QUOTED_PATH = /^((?:rcpt[ \t]+to|mail[ \t]+from)[ \t]*:[ \t]*<)("(?:[ !#-;=?-[\]-~]|\\[ -;=?-~])+")(@[^@]*)$/is;
/** Replacement within a command: no atom contains a backslash. */
const STAND_IN = /^\\((?:[\da-f]{2})+)(?=@)/;

/** The command with a quoted local part as digits: for `smtp-server`, a space or an `@` in it ends the address. */
const withStandIn = (command: string): string =>
  command.replace(
    QUOTED_PATH,
    (_, before: string, local: string, after: string) =>
      `${before}\\${Buffer.from(local, 'latin1').toString('hex')}${after}`,
  );

const asWritten = <Address extends SMTPServerAddress>(read: Address): Address => {
  const digits = STAND_IN.exec(read.address)?.[1];
  const local = digits === undefined ? '' : Buffer.from(digits, 'hex').toString('latin1');
  return QUOTED_LOCAL.test(local) ? { ...read, address: read.address.replace(STAND_IN, () => local) } : read;
};

const sessionAsWritten = (session: SMTPServerSession): SMTPServerSession => {
  const { envelope } = session;
  const mailFrom = envelope.mailFrom === false ? false : asWritten(envelope.mailFrom);
  return { ...session, envelope: { ...envelope, mailFrom, rcptTo: envelope.rcptTo.map(asWritten) } };
};

const understood = ({ onMailFrom, onRcptTo, onData }: SMTPServerOptions): Partial<Envelopes> => ({
  onMailFrom: (address, session, callback) => {
    const unknown = unknownParameter(address, MAIL_PARAMETERS);
    if (unknown !== null || onMailFrom === undefined) return callback(unknown);
    onMailFrom(asWritten(address), session, callback);
  },
  onRcptTo: (address, session, callback) => {
    const unknown = unknownParameter(address, RCPT_PARAMETERS);
    if (unknown !== null || onRcptTo === undefined) return callback(unknown);
    onRcptTo(asWritten(address), session, callback);
  },
  ...(onData && { onData: (stream, session, callback) => onData(stream, sessionAsWritten(session), callback) }),
});

const BARE_PATH = /^((?:rcpt[ \t]+to|mail[ \t]+from)[ \t]*:[ \t]*)([^\s<>]+)(.*)$/is;

/** The command with its address in angle brackets. */
const bracketed = (command: string): string => command.replace(BARE_PATH, '$1<$2>$3');

/** Rewrites commands with addresses on each new connection into a form that `smtp-server` can read. */
const rewriteAddresses = (server: SMTPServer, acceptsBare: boolean): void => {
  const rewritten = (command: Buffer): Buffer => {
    const text = command.toString('latin1');
    return Buffer.from(withStandIn(acceptsBare ? bracketed(text) : text), 'latin1');
  };
  const connect = server.connect.bind(server);
  server.connect = (socket, options) => {
    const before = new Set(server.connections);
    connect(socket, options);
    for (const connection of server.connections) {
      if (before.has(connection)) continue;
      const [mail, rcpt] = [connection.handler_MAIL.bind(connection), connection.handler_RCPT.bind(connection)];
      connection.handler_MAIL = (command, callback) => mail(rewritten(command), callback);
      connection.handler_RCPT = (command, callback) => rcpt(rewritten(command), callback);
    }
  };
};

const createServer = (
  { serve, bounds, acceptsBareAddresses }: SmtpTask,
  { tls, tlsBegins, networkOf, logger, monotonicMs = () => performance.now() }: SmtpListenerOptions,
): SMTPServer => {
  const current = (): Connections => connections;
  const options = serve({
    authenticated: (peer, organizationId) => current().authenticated(peer, organizationId),
    end: (peer) => current().end(peer),
  });
  const disabled = [...(options.disabledCommands ?? []), ...(tls === undefined ? ['STARTTLS'] : [])];
  const server = new SMTPServer({
    ...options,
    ...(tls ?? {}),
    ...(tlsBegins === 'implicit' ? { secure: true } : {}),
    disabledCommands: disabled,
    disableReverseLookup: true,
    logger: false,
    ...counted({ ...options, ...understood(options) }, current),
  });
  rewriteAddresses(server, acceptsBareAddresses === true);
  const dismiss: Bounding['dismiss'] = ({ id }, refusal) => {
    for (const connection of server.connections) if (connection.id === id) connection.send(421, refusal);
  };
  const connections = boundConnections(server.server, bounds, { networkOf, dismiss, monotonicMs });
  server.on('error', (error) => logger.debug({ err: error }, 'an SMTP session failed'));
  return server;
};

/** Listens for SMTP. @throws any error of `listen`. */
export const startSmtpListener = async (task: SmtpTask, options: SmtpListenerOptions): Promise<SmtpListener> => {
  const server = createServer(task, options);
  const listening = server.listen(options.port, options.host);
  await once(listening, 'listening');
  return {
    port: (listening.address() as AddressInfo).port,
    useTls: (tls) => server.updateSecureContext(tls),
    close: async () => {
      server.server.close(); // no more connections
      await sleep(NEW_TLS_MS);
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
};
