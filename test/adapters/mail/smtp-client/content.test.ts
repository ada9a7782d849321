import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseSmarthost, targetOf } from '../../../../src/adapters/mail/smarthost.ts';
import type { MimeMessage } from '../../../../src/lib/mime/mime.ts';
import { openSmtpSession } from '../../../../src/lib/smtp/smtp.ts';
import { type Script, startScriptedServer, type Write } from '../../../support/scripted-smtp-server/scripted-server.ts';

const MEGABYTE = 1_000_000;
/** Larger than one write, whatever the sizes of the chunks. */
const LARGE = 100_000;
const FINAL_DOT = '.\r\n';
const envelope = { from: 'from@a.test', to: ['to@b.test'] };

const start = async (script: Script = {}, write?: Write) => {
  const server = await startScriptedServer(script, write && { write });
  const never = new AbortController().signal;
  const target = targetOf(parseSmarthost(server.url));
  const session = await openSmtpSession({ target, ehloName: 'a.test', onEnd: () => undefined }, never);
  onTestFinished(server.close);
  onTestFinished(async () => session.close());
  return { server, session };
};

const messageOf = (sizeBytes: number, parts: readonly string[]): MimeMessage => ({
  sizeBytes,
  chunks: () => parts.map((part) => Buffer.from(part)),
});

const unstuffed = (wire: string): string => wire.replace(/(^|\r\n)\./g, '$1');

describe('dots at the beginning of lines', () => {
  const DOTTED = '.a\r\n.\r\n..\r\n...b\r\n\r\n.c.\r\nd\r\n.\r\n';

  it.each([DOTTED.length, LARGE])('arrive unchanged, in a message of %d bytes', async (sizeBytes) => {
    const { server, session } = await start();
    const cuts = [[DOTTED], DOTTED.split(''), DOTTED.split(/(?<=\r)/), DOTTED.split(/(?=\.)/)];
    for (const parts of cuts) {
      const outgoing = { message: messageOf(sizeBytes, parts), mayFinish: () => true };
      const { end } = await session.transmit(envelope, outgoing, new AbortController().signal);
      expect(end.kind).toBe('accepted');
      expect(`${unstuffed(server.messages.at(-1) ?? '')}\r\n`).toBe(DOTTED);
    }
    expect(server.messages).toHaveLength(cuts.length);
  });

  it.each([65_533, 65_534, 65_535, 65_536, 65_537])(
    'leave a message of %d bytes, about a socket buffer, unchanged',
    async (size) => {
      const { server, session } = await start();
      const content = `${'.\r\n'.repeat(50)}${'a'.repeat(size - 152)}\r\n`;
      const outgoing = { message: messageOf(size, [content]), mayFinish: () => true };
      const { end } = await session.transmit(envelope, outgoing, AbortSignal.timeout(5_000));
      expect(end.kind).toBe('accepted');
      expect(`${unstuffed(server.messages.at(-1) ?? '')}\r\n`).toBe(content);
    },
  );

  it('a last line without an end gets one', async () => {
    const { server, session } = await start();
    for (const size of [1, LARGE]) {
      const outgoing = { message: messageOf(size, ['a\r\nb']), mayFinish: () => true };
      await session.transmit(envelope, outgoing, new AbortController().signal);
      expect(server.messages.at(-1)).toBe('a\r\nb');
    }
  });
});

describe('a large message', () => {
  const LINE = `${'x'.repeat(78)}\r\n`;
  const CHUNK = Buffer.from(LINE.repeat(800));
  const CHUNKS = 500; // 32 MB: more than the buffers of two sockets may hold
  let made = 0;
  const message: MimeMessage = {
    sizeBytes: CHUNK.length * CHUNKS,
    *chunks() {
      for (made = 0; made < CHUNKS; made += 1) yield CHUNK;
    },
  };

  /** The sender makes no more: the buffers of both sockets are full. */
  const untilStuck = async (): Promise<void> => {
    for (let before = -1; before !== made; ) {
      before = made;
      await sleep(100);
    }
  };

  /** A server that reads the message, with its final dot, only on request. */
  const startSlow = async () => {
    const { promise: asked, resolve } = Promise.withResolvers<() => void>();
    const ended = Promise.withResolvers<void>();
    let received = 0;
    const count = (socket: Socket, chunk: Buffer): void => {
      received += chunk.length;
      if (received === message.sizeBytes + FINAL_DOT.length) socket.write('250 2.0.0 Ok\r\n');
    };
    const { session } = await start({}, (socket, text) => {
      socket.write(text);
      if (!text.startsWith('354')) return;
      socket.pause().removeAllListeners('data');
      socket.on('close', () => ended.resolve());
      socket.on('data', (chunk) => count(socket, chunk)).pause();
      resolve(() => void socket.resume());
    });
    return { session, asked, received: () => received, ended: ended.promise };
  };

  it('is made no faster than it is read, and arrives whole', async () => {
    const { session, asked, received } = await startSlow();
    const sending = session.transmit(envelope, { message, mayFinish: () => true }, new AbortController().signal);
    const resume = await asked;
    await untilStuck();
    expect(made * CHUNK.length).toBeLessThan(16 * MEGABYTE);
    resume();
    expect((await sending).end.kind).toBe('accepted');
    expect([made, received()]).toEqual([CHUNKS, message.sizeBytes + FINAL_DOT.length]);
  });

  it('aborted while it is read slowly ends at once, without its final dot', async () => {
    const { session, asked, received, ended } = await startSlow();
    const controller = new AbortController();
    const sending = session.transmit(envelope, { message, mayFinish: () => true }, controller.signal);
    const resume = await asked;
    await untilStuck();
    controller.abort(); // the server reads on only after the session has ended
    expect((await sending).end).toMatchObject({ kind: 'broken', begun: true, finalDot: false });
    expect(session.isOpen()).toBe(false);
    resume();
    await ended;
    expect(received()).toBeLessThan(message.sizeBytes);
  });

  it('is confirmed right before its final dot, when all the rest has left', async () => {
    const { server, session } = await start();
    let madeWhenAsked = 0;
    const mayFinish = (): boolean => {
      madeWhenAsked = made;
      return false;
    };
    const short: MimeMessage = { sizeBytes: LARGE, chunks: () => [CHUNK, CHUNK] };
    made = 2;
    const { end } = await session.transmit(envelope, { message: short, mayFinish }, new AbortController().signal);
    expect(end).toMatchObject({ kind: 'broken', begun: true, finalDot: false, reply: { code: 0 } });
    await expect.poll(server.openConnections).toBe(0);
    expect([madeWhenAsked, server.messages]).toEqual([2, []]);
  });
});

describe('a message that cannot be made', () => {
  it.each([1, LARGE])('is a fault, and ends the session that waits for it (%d bytes)', async (sizeBytes) => {
    const { server, session } = await start();
    const message: MimeMessage = {
      sizeBytes,
      *chunks() {
        yield Buffer.from('a\r\n');
        throw new Error('no more');
      },
    };
    const sending = session.transmit(envelope, { message, mayFinish: () => true }, new AbortController().signal);
    await expect(sending).rejects.toThrow('no more');
    expect(session.isOpen()).toBe(false);
    await expect.poll(server.openConnections).toBe(0);
    expect(server.messages).toEqual([]);
  });
});
