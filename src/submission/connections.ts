import type { Server, Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { neighbourhoodOf } from '../http/door/address-ranges.ts';

/** One end of a connection, as a session knows it too. */
export interface Peer {
  readonly remoteAddress: string;
  readonly remotePort: number;
}

export interface ConnectionTimes {
  /** From the connection to its key. */
  readonly authMs?: number;
}

/** What no client may hold for longer, or more of. */
export interface Connections {
  /** false: this address has as many as it may; otherwise it counts until `leave`. */
  enter(session: Peer & { readonly id: string }): boolean;
  leave(session: Peer & { readonly id: string }): void;
  /** The client has given a key: it may stay. */
  welcome(peer: Peer): void;
  /** Ends it at once, whatever it does. */
  end(peer: Peer): void;
}

/** A pool of a busy program; more lets one client take the places of all others. */
const CONNECTIONS_PER_ADDRESS_MAX = 100;
/** Longer lets strangers hold places, shorter refuses clients behind slow lines. */
const AUTH_MS_MAX = 60_000;
/** A pool opens another one; what never ends would outlive every other bound. */
const CONNECTION_MS_MAX = 3_600_000;

/** Sockets and sessions write one address in several ways. */
const nameOf = ({ remoteAddress = '', remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string =>
  `${ipaddr.isValid(remoteAddress) ? ipaddr.process(remoteAddress) : ''} ${remotePort}`;

/** Bounds the connections of a listener. Sockets are ended from here: nothing a client sends can put that off. */
export const boundConnections = (server: Server, { authMs = AUTH_MS_MAX }: ConnectionTimes = {}): Connections => {
  const addresses = new Map<string, string>();
  const counts = new Map<string, number>();
  const sockets = new Map<string, { readonly socket: Socket; readonly timers: NodeJS.Timeout[] }>();

  const forget = (name: string): void => {
    for (const timer of sockets.get(name)?.timers ?? []) clearTimeout(timer);
    sockets.delete(name);
  };

  server.on('connection', (socket) => {
    const name = nameOf(socket);
    const end = (): void => {
      forget(name);
      socket.destroy();
    };
    forget(name);
    sockets.set(name, { socket, timers: [authMs, CONNECTION_MS_MAX].map((ms) => setTimeout(end, ms).unref()) });
  });

  return {
    enter: ({ id, remoteAddress }) => {
      const neighbourhood = neighbourhoodOf(remoteAddress);
      const count = counts.get(neighbourhood) ?? 0;
      if (count >= CONNECTIONS_PER_ADDRESS_MAX) return false;
      counts.set(neighbourhood, count + 1);
      addresses.set(id, neighbourhood);
      return true;
    },
    leave: ({ id, ...peer }) => {
      const neighbourhood = addresses.get(id);
      forget(nameOf(peer));
      if (neighbourhood === undefined) return;
      addresses.delete(id);
      const count = counts.get(neighbourhood) ?? 1;
      if (count > 1) counts.set(neighbourhood, count - 1);
      else counts.delete(neighbourhood);
    },
    welcome: (peer) => clearTimeout(sockets.get(nameOf(peer))?.timers[0]),
    end: (peer) => sockets.get(nameOf(peer))?.socket.destroy(),
  };
};
