import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createTcpLine, type Pace, type TcpLine } from './tcp-line.ts';

/** Direction of travel. */
type Direction = 'to server' | 'to client';

/** Imitates network failures, one at a time. `mend` and `thaw` end them. */
export interface TcpProxy {
  /** The given URL, routed through the proxy. */
  readonly url: string;
  /** Relays nothing and ends no connection, as if a cable were unplugged. */
  freeze(): void;
  thaw(): void;
  /** Ends every connection and refuses new ones. */
  cut(): void;
  /** Resets every connection and loses bytes in transit. New connections are accepted. */
  reset(): void;
  /** Delays all bytes by this many milliseconds in each direction. */
  delay(ms: number): void;
  /** Silences one direction, for new connections too. The other works. The held bytes arrive when it is mended. */
  silence(direction: Direction): void;
  /**
   * Silences open connections for good, as when a firewall forgets them. New ones work. The client's side never ends.
   * The server's ends when its system has noticed.
   */
  forget(noticedMs: number): void;
  /** Sends every byte alone, one per turn of the event loop. */
  trickle(): void;
  /** Ends any failure except `freeze`. */
  mend(): void;
  stop(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  readonly lines: Readonly<Record<Direction, TcpLine>>;
}

const USUAL: Pace = { delayMs: 0, single: false };

/** A proxy between a client and the server that the URL names. */
export const startTcpProxy = async (url: string): Promise<TcpProxy> => {
  const target = new URL(url);
  const pairs = new Set<Pair>();
  let isFrozen = false;
  let isCut = false;
  let silent: Direction | undefined;
  let pace = USUAL;

  const forgotten = new WeakSet<Pair>();

  const arrange = (pair: Pair): void => {
    const { client, upstream } = pair;
    for (const [socket, direction] of [
      [client, 'to server'],
      [upstream, 'to client'],
    ] as const) {
      if (isFrozen || silent === direction || forgotten.has(pair)) socket.pause();
      else socket.resume();
    }
  };
  const arrangeAll = (): void => {
    for (const pair of pairs) arrange(pair);
  };

  const join = (client: Socket, upstream: Socket): void => {
    for (const socket of [client, upstream]) socket.setNoDelay(true).on('error', () => undefined);
    const paceNow = (): Pace => pace;
    const lines = {
      'to server': createTcpLine(client, upstream, paceNow),
      'to client': createTcpLine(upstream, client, paceNow),
    };
    const pair: Pair = { client, upstream, lines };
    pairs.add(pair);
    client.on('close', () => pairs.delete(pair));
    arrange(pair);
  };

  const server = createServer((client) => {
    if (isCut) client.destroy();
    else join(client, connect(Number(target.port), target.hostname));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  const endAll = (how: 'destroy' | 'resetAndDestroy'): void => {
    for (const { client, upstream, lines } of pairs) {
      for (const line of Object.values(lines)) line.drop();
      for (const socket of [client, upstream]) socket[how]();
    }
  };

  return {
    url: Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(port) }).href,
    freeze: () => {
      isFrozen = true;
      arrangeAll();
    },
    thaw: () => {
      isFrozen = false;
      arrangeAll();
    },
    cut: () => {
      isCut = true;
      endAll('destroy');
    },
    reset: () => endAll('resetAndDestroy'),
    delay: (delayMs) => {
      pace = { ...USUAL, delayMs };
    },
    silence: (direction) => {
      silent = direction;
      arrangeAll();
    },
    forget: (noticedMs) => {
      for (const pair of pairs) {
        forgotten.add(pair);
        for (const line of Object.values(pair.lines)) line.sever();
        setTimeout(() => pair.upstream.destroy(), noticedMs).unref();
      }
      arrangeAll();
    },
    trickle: () => {
      pace = { ...USUAL, single: true };
    },
    mend: () => {
      isCut = false;
      silent = undefined;
      pace = USUAL;
      arrangeAll();
    },
    stop: async () => {
      server.close();
      endAll('destroy');
      await once(server, 'close');
    },
  };
};
