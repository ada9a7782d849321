import { type AddressInfo, createServer, type Socket } from 'node:net';
import { serveParent } from '../harness/serve-parent.ts';
import { takeMail } from '../harness/take-mail.ts';

const SIGNATURE = /^DKIM-Signature:.*a=rsa-sha256/im;

let received = 0;
let signed = 0;
let awaited: ((at: number) => void)[] = [];

/** Unix time in milliseconds with a fraction, from the same clock in every process of the machine. */
const nowMs = (): number => performance.timeOrigin + performance.now();

const tellWaiting = (): void => {
  const waiting = awaited;
  awaited = [];
  for (const resolve of waiting) resolve(nowMs());
};

const serve = (socket: Socket): void =>
  takeMail(socket, {
    onMessage: (top) => {
      received += 1;
      if (SIGNATURE.test(top)) signed += 1;
    },
    reply: (to, text) => {
      socket.write(text);
      if (to === '.') tellWaiting();
    },
  });

/** Accepts every message at once and keeps none: the fastest possible receiver. */
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
      /** When the response to the next message is sent. */
      next: () => new Promise<number>((resolve) => awaited.push(resolve)),
    },
    close: async () => {
      server.close();
    },
  };
});
