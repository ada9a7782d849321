import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { NameServer } from '../../domain/name-server.ts';
import type { Reply } from './reply.ts';

export interface Exchange {
  readonly server: NameServer;
  readonly message: Buffer;
  /** null: not the answer to this. */
  readonly read: (message: Buffer) => Reply | null;
  /** Ends it, whatever it has come to. */
  readonly signal: AbortSignal;
}

/**
 * Asks from a socket of its own: its port is one more thing that somebody who forges answers has to guess
 * (RFC 5452 §9.2). A connected one takes datagrams from that server alone, and hears at once that nobody listens.
 * @throws {BadReply} the server's own answer cannot be read.
 */
export const askByUdp = ({ server, message, read, signal }: Exchange): Promise<Reply> => {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4');
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  socket.on('error', reject);
  socket.on('message', (datagram) => {
    try {
      const reply = read(datagram);
      if (reply !== null) resolve(reply);
    } catch (error) {
      reject(error);
    }
  });
  socket.connect(server.port, server.address, () => socket.send(message));
  return promise.finally(() => {
    signal.removeEventListener('abort', onAbort);
    socket.close();
  });
};
