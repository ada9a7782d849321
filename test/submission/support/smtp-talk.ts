import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A client that sends what it is told, however wrong, and shows every reply. */
export interface SmtpTalk {
  readonly socket: Socket;
  /** Sends as it stands and answers with the next whole reply; `''` once the other side has gone. */
  ask(text: string | Buffer): Promise<string>;
  /** The next reply, without sending. */
  next(): Promise<string>;
  close(): void;
}

const LAST_LINE = /^\d{3}(?: .*)?\r\n/m;

/** The greeting has been read. */
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
