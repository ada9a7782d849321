import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A client that sends any input, valid or not, and returns every reply. */
export interface SmtpTalk {
  readonly socket: Socket;
  /** Sends raw text and returns the next complete reply, or `''` if the other side has closed. */
  ask(text: string | Buffer): Promise<string>;
  /** Returns the next reply without sending. */
  next(): Promise<string>;
  close(): void;
}

const LAST_LINE = /^\d{3}(?: .*)?\r\n/m;

/** Connects and reads the greeting. */
export const talkSmtp = async (
  port: number,
  host = '127.0.0.1',
  localAddress?: string,
): Promise<SmtpTalk & { greeting: string }> => {
  const socket = connect({ port, host, ...(localAddress === undefined ? {} : { localAddress }) });
  let received = '';
  let isOver = false;
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isOver = true;
  });
  await once(socket, 'connect');
  const next = async (): Promise<string> => {
    for (;;) {
      const last = LAST_LINE.exec(received);
      if (last !== null) {
        const end = last.index + last[0].length;
        const reply = received.slice(0, end);
        received = received.slice(end);
        return reply.trimEnd();
      }
      if (isOver) return '';
      await sleep(5);
    }
  };
  const greeting = await next();
  return {
    socket,
    next,
    greeting,
    ask: (text) => {
      if (!socket.destroyed) socket.write(text);
      return next();
    },
    close: () => socket.destroy(),
  };
};

export const plain = (key: string, user = 'outbox'): string =>
  `AUTH PLAIN ${Buffer.from(`\0${user}\0${key}`).toString('base64')}\r\n`;
