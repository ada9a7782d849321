import { connect } from 'node:net';
import { createResponseReader } from './response-reader.ts';

/** A kept-alive connection with one request at a time. */
export interface Connection {
  send(request: Buffer): void;
  close(): void;
}

export interface ConnectionOptions {
  readonly url: URL;
  onAnswer(status: number): void;
  /** Called when the connection ends or the response is invalid. The pending request has no response. */
  onLost(error: Error): void;
}

/** Fits the response to a send. Larger responses are read in parts. */
const READ_BYTES = 16_384;

export const openConnection = ({ url, onAnswer, onLost }: ConnectionOptions): Promise<Connection> =>
  new Promise((resolve) => {
    let closed = false;
    const lose = (error: Error): void => {
      if (closed) return;
      closed = true;
      socket.destroy();
      onLost(error);
    };
    const read = createResponseReader(onAnswer);
    const onread = {
      buffer: Buffer.allocUnsafe(READ_BYTES),
      callback: (bytes: number, buffer: Uint8Array): boolean => {
        try {
          read(Buffer.from(buffer.buffer, buffer.byteOffset, bytes));
        } catch (error) {
          lose(error as Error);
        }
        return true;
      },
    };
    const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true, onread });
    socket.on('error', lose);
    socket.on('close', () => lose(new Error('the connection was closed')));
    socket.once('connect', () =>
      resolve({
        send: (request) => {
          socket.write(request);
        },
        close: () => {
          closed = true;
          socket.destroy();
        },
      }),
    );
  });
