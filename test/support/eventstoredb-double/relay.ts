import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket, connect as tcpConnect } from 'node:net';

/**
 * A relay between client and server that imitates the network. It can break every connection, refuse new ones or freeze
 * all traffic, which a server in this process cannot do to itself.
 */
export interface Relay {
  readonly port: number;
  /** Breaks the connections and refuses new ones, as a killed process does. */
  stop(): Promise<void>;
  /** Listens again on the same port. */
  start(): Promise<void>;
  /** Accepts connections and bytes but relays nothing, as a stopped process does. */
  freeze(): void;
  thaw(): void;
  /** Breaks the connections. New ones are accepted. */
  cut(): void;
  /** Bytes relayed to clients so far. */
  sentBytes(): number;
  /** Open client connections. */
  connections(): number;
}

const HOST = '127.0.0.1';

export const startRelay = async (upstreamPort: number): Promise<Relay> => {
  const sockets = new Set<Socket>();
  let frozen = false;
  let sent = 0;

  const setPaused = (socket: Socket): void => {
    if (frozen) socket.pause();
    else socket.resume();
  };

  const join = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on('data', (chunk) => {
      if (!to.write(chunk)) from.pause();
    });
    to.on('drain', () => setPaused(from));
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
    from.on('error', () => to.destroy());
    setPaused(from);
  };

  const server: Server = createServer((client) => {
    const upstream = tcpConnect(upstreamPort, HOST);
    client.setNoDelay(true);
    upstream.setNoDelay(true);
    upstream.on('data', (chunk) => {
      sent += chunk.length;
    });
    join(client, upstream);
    join(upstream, client);
  });

  const listen = async (port: number): Promise<void> => {
    server.listen(port, HOST);
    await once(server, 'listening');
  };

  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };

  await listen(0);
  const { port } = server.address() as AddressInfo;

  return {
    port,
    cut,
    start: () => listen(port),
    stop: async () => {
      frozen = false;
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
    freeze: () => {
      frozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw: () => {
      frozen = false;
      for (const socket of sockets) socket.resume();
    },
    sentBytes: () => sent,
    connections: () => sockets.size / 2, // each has one to the server
  };
};
