import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

interface Waiting {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** What one read can bring of the shortest requests that there are. More is memory, and only a pause that failed brings it. */
const WAITING_MAX = 5_000;

/**
 * Serves the requests of one connection one after the other, in the order in which they came, as RFC 9112 §9.3.2 wants
 * it for whatever is not safe. Without it a client that does not wait for answers ("pipelining") puts as many requests
 * as it likes on the event loop at once. The next one begins in another turn of the loop, so that other connections
 * come between. While requests wait, nothing more is read from the connection: what waits is at most what one read
 * brought (64 kB). Node itself resumes a connection after each request that it has read and each answer that it has
 * written, so the pause is made again whenever that happens. Clients that do not pipeline never wait here.
 */
export const oneAtATime = (serve: RequestListener): RequestListener => {
  /** What waits behind the request in hand, by connection; absent: none is in hand. */
  const busy = new WeakMap<Socket, Waiting[]>();
  const known = new WeakSet<Socket>();

  const keepPaused = (socket: Socket): void => {
    socket.on('resume', () => {
      if ((busy.get(socket)?.length ?? 0) > 0) socket.pause();
    });
  };

  const begin = (socket: Socket, request: IncomingMessage, response: ServerResponse): void => {
    response.once('close', () => end(socket));
    serve(request, response);
  };

  const end = (socket: Socket): void => {
    const waiting = busy.get(socket) ?? [];
    const next = waiting.shift();
    if (next === undefined) busy.delete(socket);
    // What waits on a connection that is gone, or was just told to close, is forgotten with it (RFC 9112 §9.6).
    if (next === undefined || !socket.writable) return;
    if (waiting.length === 0) socket.resume();
    setImmediate(begin, socket, next.request, next.response);
  };

  return (request, response) => {
    const { socket } = request;
    const waiting = busy.get(socket);
    if (waiting === undefined) {
      if (!known.has(socket)) keepPaused(socket);
      known.add(socket);
      busy.set(socket, []);
      begin(socket, request, response);
      return;
    }
    if (waiting.length === WAITING_MAX) {
      socket.destroy();
      return;
    }
    waiting.push({ request, response });
    socket.pause();
  };
};
