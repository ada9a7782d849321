import type { Socket } from 'node:net';

/** End of a message (RFC 5321 §4.1.1.4). */
const END = Buffer.from('\r\n.\r\n');
const LINE_END = Buffer.from('\r\n');
const GREETING = '220 sink.example ESMTP\r\n';
const EHLO = '250-sink.example\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 ENHANCEDSTATUSCODES\r\n';

const REPLIES: Readonly<Record<string, string>> = {
  EHLO,
  HELO: '250 sink.example\r\n',
  DATA: '354 go on\r\n',
  QUIT: '221 2.0.0 bye\r\n',
};
const OK = '250 2.0.0 ok\r\n';
/** Fits the headers that the service puts before the sender's. */
const TOP_BYTES = 1_000;

export interface MailTaker {
  /** @param to first four letters of the command, or `.` for the end of a message. */
  reply(to: string, text: string): void;
  /** @param top first bytes of the message. */
  onMessage(top: string): void;
}

interface Session {
  buffer: Buffer;
  inMessage: boolean;
}

/** Handles one command or message from the received data. @returns false if more data is needed. */
const step = (session: Session, { reply, onMessage }: MailTaker): boolean => {
  const marker = session.inMessage ? END : LINE_END;
  const end = session.buffer.indexOf(marker);
  if (end === -1) return false;
  const verb = session.buffer.toString('latin1', 0, Math.min(end, 4)).toUpperCase();
  const top = session.inMessage ? session.buffer.toString('latin1', 0, Math.min(end, TOP_BYTES)) : '';
  session.buffer = session.buffer.subarray(end + marker.length);
  if (session.inMessage) {
    onMessage(top);
    reply('.', OK);
    session.inMessage = false;
    return true;
  }
  reply(verb, REPLIES[verb] ?? OK);
  session.inMessage = verb === 'DATA';
  return true;
};

/** Sends the greeting and accepts every message on the connection. */
export const takeMail = (socket: Socket, taker: MailTaker): void => {
  const session: Session = { buffer: Buffer.alloc(0), inMessage: false };
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    session.buffer = session.buffer.length === 0 ? chunk : Buffer.concat([session.buffer, chunk]);
    while (step(session, taker));
  });
  socket.write(GREETING);
};
