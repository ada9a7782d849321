import type { buildConnector } from 'undici';

type Connect = buildConnector.connector;

/** Status line of an interim response (RFC 9110 §15.2), up to its class. */
const INTERIM = 'HTTP/1.1 1';
const CONTINUE = `${INTERIM}00`;
const PROCESSING = Buffer.from('2'); // the last digit
const [LF, CR] = Buffer.from('\n\r');

const mayBeInterim = (status: string): boolean => INTERIM.startsWith(status) || status.startsWith(INTERIM);

/**
 * Turns each `100 Continue` before a response into `102 Processing`, which undici ignores; it treats a 100 as a fault.
 * The bytes may arrive in any pieces. A piece of a body that begins like a status line is changed too, but only in its
 * text.
 */
const createRewriter = () => {
  let status = '';
  let isInHeaders = false;
  let isLineEmpty = false;

  /** @returns false once the final response has begun. */
  const readStatus = (chunk: Buffer, at: number): boolean => {
    status += chunk.toString('latin1', at, at + 1);
    if (!mayBeInterim(status)) return false;
    if (status.length < CONTINUE.length) return true;
    if (status === CONTINUE) PROCESSING.copy(chunk, at);
    status = '';
    isInHeaders = true;
    isLineEmpty = false;
    return true;
  };

  const readHeaders = (byte: number | undefined): void => {
    if (byte === CR) return;
    if (byte === LF && isLineEmpty) isInHeaders = false;
    isLineEmpty = byte === LF;
  };

  return (chunk: Buffer): void => {
    for (let at = 0; at < chunk.length; at += 1) {
      if (isInHeaders) readHeaders(chunk[at]);
      else if (!readStatus(chunk, at)) {
        status = '';
        return;
      }
    }
  };
};

/** Allows a server to send `100 Continue` unrequested, as a client must (RFC 9110 §15.2.1). */
export const toleratingContinue =
  (connect: Connect): Connect =>
  (options, callback) =>
    connect(options, (...result) => {
      const [failure, socket] = result;
      if (failure === null) {
        const read = socket.read.bind(socket);
        const rewrite = createRewriter();
        socket.read = (bytes) => {
          const chunk: unknown = read(bytes);
          if (Buffer.isBuffer(chunk)) rewrite(chunk);
          return chunk;
        };
      }
      callback(...result);
    });
