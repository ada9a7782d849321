import { type AddressInfo, createServer, type Socket } from 'node:net';
import { serveParent } from '../harness/serve-parent.ts';

/** Marks the end of a message (RFC 5321 §4.1.1.4). */
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

let received = 0;
let signed = 0;
/** A signature stands at the top of a message. */
const TOP_BYTES = 1_000;
const SIGNATURE = 'DKIM-Signature:';
let awaited: ((at: number) => void)[] = [];

/** Milliseconds since the epoch with their fraction: the same clock in every process of the machine. */
const nowMs = (): number => performance.timeOrigin + performance.now();

const takeMessage = (socket: Socket): void => {
  received += 1;
  socket.write(OK);
  const waiting = awaited;
  awaited = [];
  for (const resolve of waiting) resolve(nowMs());
};

interface Session {
  readonly socket: Socket;
  buffer: Buffer;
  inMessage: boolean;
}

/** Handles one command or one message of what has arrived. @returns false: the rest has not come yet. */
const step = (session: Session): boolean => {
  const marker = session.inMessage ? END : LINE_END;
  const end = session.buffer.indexOf(marker);
  if (end === -1) return false;
  const verb = session.buffer.toString('latin1', 0, Math.min(end, 4)).toUpperCase();
  const top = session.inMessage ? session.buffer.toString('latin1', 0, Math.min(end, TOP_BYTES)) : '';
  session.buffer = session.buffer.subarray(end + marker.length);
  if (session.inMessage) {
    if (top.includes(SIGNATURE)) signed += 1;
    takeMessage(session.socket);
    session.inMessage = false;
    return true;
  }
  session.socket.write(REPLIES[verb] ?? OK);
  session.inMessage = verb === 'DATA';
  return true;
};

const serve = (socket: Socket): void => {
  const session: Session = { socket, buffer: Buffer.alloc(0), inMessage: false };
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    session.buffer = session.buffer.length === 0 ? chunk : Buffer.concat([session.buffer, chunk]);
    while (step(session));
  });
  socket.write(GREETING);
};

/** Takes every message at once and keeps none: the fastest other side there is. */
await serveParent(async () => {
  const server = createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    facts: { port: (server.address() as AddressInfo).port },
    answers: {
      count: () => received,
      takeSigned: () => {
        const taken = signed;
        signed = 0;
        return taken;
      },
      /** When the answer to the next message leaves. */
      next: () => new Promise<number>((resolve) => awaited.push(resolve)),
    },
    close: async () => {
      server.close();
    },
  };
});
