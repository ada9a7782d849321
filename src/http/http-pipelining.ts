import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

interface WaitingRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The number of shortest requests that fit into one read. Exceeded only if pausing failed. */
const WAITING_MAX = 5_000;

/**
 * Serves pipelined requests of a connection one at a time, in order, as RFC 9112 §9.3.2 requires for unsafe methods.
 * Without it a client that pipelines puts any number of requests on the event loop at once. The next request begins in
 * another turn of the loop, so that other connections are served in between. While requests wait, the connection is
 * paused: at most one read (64 kB) waits. Node resumes a connection after each request read and each answer written, so
 * it is paused again each time. Clients that do not pipeline never wait here.
 */
export const oneAtATime = (serve: RequestListener): RequestListener => {
  /** Requests behind the one in progress, by connection; absent: none is in progress. */
  const busy = new WeakMap<Socket, WaitingRequest[]>();
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
    // Requests that wait on a closed or closing connection are dropped (RFC 9112 §9.6).
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
