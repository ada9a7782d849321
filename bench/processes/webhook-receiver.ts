import { type AddressInfo, createServer, type Socket } from 'node:net';
import { serveParent } from '../harness/serve-parent.ts';

const HEAD_END = '\r\n\r\n';
const LENGTH = /\r\ncontent-length: *(\d+)/i;
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

let received = 0;
/** Unix time in milliseconds of the first post since the last question. */
let firstMs: number | null = null;

/** @returns the offset of the end of the first post; -1 if it is incomplete. */
const endOfPost = (buffer: Buffer): number => {
  const headEnd = buffer.indexOf(HEAD_END);
  if (headEnd === -1) return -1;
  const length = Number(LENGTH.exec(buffer.toString('latin1', 0, headEnd))?.[1] ?? 0);
  const end = headEnd + HEAD_END.length + length;
  return end > buffer.length ? -1 : end;
};

const serve = (socket: Socket): void => {
  let buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    buffer = buffer.length === 0 ? chunk : Buffer.concat([buffer, chunk]);
    for (let end = endOfPost(buffer); end !== -1; end = endOfPost(buffer)) {
      buffer = buffer.subarray(end);
      received += 1;
      firstMs ??= performance.timeOrigin + performance.now();
      socket.write(ANSWER);
    }
  });
};

/** Accepts every post at once and keeps none. */
await serveParent(async () => {
  const server = createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    facts: { port: (server.address() as AddressInfo).port },
    answers: {
      count: () => received,
      takeFirstMs: () => {
        const taken = firstMs;
        firstMs = null;
        return taken;
      },
    },
    close: async () => {
      server.close();
    },
  };
});
