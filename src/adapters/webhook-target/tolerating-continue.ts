import type { buildConnector } from 'undici';

type Connect = buildConnector.connector;

const CONTINUE = Buffer.from('HTTP/1.1 100');
/** Any answer before the final one (RFC 9110 §15.2) but the one that undici takes for a fault. */
const PROCESSING = Buffer.from('HTTP/1.1 102');

/** Lets a server say `100 Continue` to a request that did not ask for it, as a client must (RFC 9110 §15.2.1). */
export const toleratingContinue =
  (connect: Connect): Connect =>
  (options, callback) =>
    connect(options, (...result) => {
      const [failure, socket] = result;
      if (failure === null) {
        const read = socket.read.bind(socket);
        socket.read = (bytes) => {
          const chunk: unknown = read(bytes);
          if (Buffer.isBuffer(chunk) && chunk.subarray(0, CONTINUE.length).equals(CONTINUE)) PROCESSING.copy(chunk);
          return chunk;
        };
      }
      callback(...result);
    });
