import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  /** The given URL, by way of the proxy. */
  readonly url: string;
  /** Nothing passes, no connection ends: as when a cable is pulled. */
  freeze(): void;
  thaw(): void;
  /** Ends every connection and refuses new ones. */
  cut(): void;
  mend(): void;
  stop(): Promise<void>;
}

/** Stands between a client and the server that the URL names. */
export const startTcpProxy = async (url: string): Promise<TcpProxy> => {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let isFrozen = false;
  let isCut = false;

  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    if (isFrozen) socket.pause();
  };

  const server = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      keep(from);
      from.on('data', (chunk) => to.write(chunk));
      from.on('close', () => to.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };

  return {
    url: Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(port) }).href,
    freeze: () => {
      isFrozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw: () => {
      isFrozen = false;
      for (const socket of sockets) socket.resume();
    },
    cut: () => {
      isCut = true;
      destroyAll();
    },
    mend: () => {
      isCut = false;
    },
    stop: async () => {
      server.close();
      destroyAll();
      await once(server, 'close');
    },
  };
};
