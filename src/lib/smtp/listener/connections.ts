import type { Server, Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { createShares, type Full, type Place, type Shares } from '../../async/async.ts';

/**
 * Bounds the connections of an SMTP listener, and their duration. A connection counts towards its network until it is
 * authenticated, and towards its organization from then on. At a bound, an idle connection is closed for the new one:
 * first one that has not authenticated. A new connection is rejected only if all others are receiving messages.
 */

/** The client's end of a connection. */
export interface Peer {
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
export type Refusal = string;

export interface Connections {
  /** A session begins. @returns null if it may continue. */
  enter(session: Session): Refusal | null;
  /**
   * Ends the time limit for authentication, and counts the connection towards its organization. @returns null if it may
   * continue.
   */
  authenticated(peer: Peer, organizationId: string): Refusal | null;
  /** Records activity: the connection is idle from now on. */
  used(peer: Peer): void;
  /** The connection receives a message, so it is not idle. @returns a function to call at its end. */
  receives(peer: Peer): () => void;
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
  readonly timers: NodeJS.Timeout[];
}

/** Ends TLS before its socket. Destroying only the socket in the middle of a handshake crashes Node 24. */
const endSocket = (socket: Socket): void => {
  socket.emit('close', false);
  socket.destroy();
};

/** Delay before a socket that has just got TLS is ended: in the same turn, that crashes Node 24. */
export const NEW_TLS_MS = 50;
/** Time for a client to read why its connection is closed. Longer lets it occupy a socket. */
const CLOSING_MS = 2_000;

const REFUSALS: Readonly<Record<Full<'network'>['full'], Refusal>> = {
  network: '4.7.0 too many connections from this network: close some, or try again in a minute',
  all: '4.3.2 too many connections are open: try again in a minute',
};
const ORGANIZATION_FULL: Refusal =
  '4.7.0 too many connections are sending for this organization: close some, or try again in a minute';
const IDLE: Refusal = '4.3.2 this connection was idle and was closed for a new one: connect again';

/** Sockets and sessions spell the same address in several ways. */
const nameOf = ({ remoteAddress = '', remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string =>
  `${ipaddr.isValid(remoteAddress) ? ipaddr.process(remoteAddress) : ''} ${remotePort}`;

export interface Bounding {
  /** The network to which an address is counted. */
  networkOf(address: string): string;
  /** Replies with 421, and closes the session. */
  dismiss(session: Session, refusal: Refusal): void;
}

/** Bounds the connections of a listener. Sockets are ended from here, so nothing a client sends can delay that. */
export const boundConnections = (
  server: Server,
  { max, perNetwork, perOrganization = 0, authMs, durationMs }: ConnectionBounds,
  { networkOf, dismiss }: Bounding,
): Connections => {
  const connections = new Map<string, Connection>();
  /** Connections not receiving a message, those silent longest first. */
  const idle = new Set<Connection>();
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

  /** Takes a place, after closing an idle connection if necessary. */
  const takePlace = <Owner extends string>(
    take: () => Place | Full<Owner>,
    isOfOwner: (connection: Connection) => boolean,
  ): Place | Full<Owner> => {
    const place = take();
    return 'full' in place && closeIdle(isOfOwner) ? take() : place;
  };

  const isStranger = ({ organizationId }: Connection): boolean => organizationId === null;
  const hasRoom = (): boolean =>
    strangers.size() + members.size() < max || closeIdle(isStranger) || closeIdle(() => true);

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
      if (connection !== undefined) idle.delete(connection);
      return () => used(connection);
    },
    end: (peer) => {
      const connection = find(peer);
      if (connection !== undefined) end(connection);
    },
  };
};
