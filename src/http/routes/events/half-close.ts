import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Calls back when the client closes its side of the connection while its answer has not ended. Half-closing alone does not
 * cancel a request, and readers of events go away by it: an answer that waits for events looks out for it.
 */
export const onHalfClose = (
  { raw: { socket } }: { readonly raw: IncomingMessage },
  { raw: response }: { readonly raw: ServerResponse },
  closed: () => void,
): void => {
  if (socket.readableEnded) closed();
  socket.once('end', closed);
  response.once('close', () => socket.removeListener('end', closed));
};
