import type { Server, Socket } from 'node:net';

export interface ConnectionBounds {
  /** From one address. */
  readonly perAddress: number;
  /** However busy it is. */
  readonly durationMs: number;
}

/** Keeps one host, or slow ones, from taking all the connections that a server has. */
export const boundConnections = (server: Server, { perAddress, durationMs }: ConnectionBounds): void => {
  const open = new Map<string, number>();

  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const count = (open.get(address) ?? 0) + 1;
    open.set(address, count);
    const timer = setTimeout(() => socket.destroy(), durationMs);
    socket.once('close', () => {
      clearTimeout(timer);
      const left = (open.get(address) ?? 1) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
    });
    if (count > perAddress) socket.destroy();
  });
};
