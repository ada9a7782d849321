import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Script, Write } from '../../../support/scripted-smtp-server/scripted-server.ts';
import { DELIVERED, refuseTwo, send, start, TWO_REFUSED, three } from './one-session.ts';

const LINE = 'A line of a large message.\r\n';

describe('replies are read', () => {
  it('a byte at a time', async () => {
    let last = Promise.resolve();
    const byteByByte: Write = (socket, text) => {
      for (const byte of Buffer.from(text)) {
        last = last.then(async () => {
          socket.write(Buffer.of(byte));
          await new Promise((resolve) => setImmediate(resolve));
        });
      }
    };
    const { server, transport } = await start(refuseTwo, byteByByte);
    expect(await send(transport, three)).toEqual(TWO_REFUSED);
    expect(await send(transport, three)).toEqual(TWO_REFUSED);
    expect(server.connections()).toBe(1);
  });

  it('all in one segment', async () => {
    const waiting = new Map<Socket, string>();
    const together: Write = (socket, text) => {
      if (!waiting.has(socket)) {
        setTimeout(() => {
          socket.write(waiting.get(socket) ?? '');
          waiting.delete(socket);
        }, 5);
      }
      waiting.set(socket, (waiting.get(socket) ?? '') + text);
    };
    const { server, transport } = await start(refuseTwo, together);
    expect(await send(transport, three)).toEqual(TWO_REFUSED);
    expect(await send(transport, three)).toEqual(TWO_REFUSED);
    expect(server.connections()).toBe(1);
  });

  it.each<[string, Script]>([
    [
      'but no further than a reply can be',
      { RCPT: (_, times) => (times === 0 ? `250 ${'x'.repeat(80_000)}` : undefined) },
    ],
    ['nor over lines without an end', { RCPT: (_, times) => (times === 0 ? '250-x\r\n'.repeat(20_000) : undefined) }],
    [
      'nor when their lines do not belong together',
      { RCPT: (_, times) => (times === 0 ? '250-x\r\n550 y' : undefined) },
    ],
    [
      'nor when they ask for the message and answer for it at once, with an empty line between',
      { DATA: (_, times) => (times === 0 ? '354 go\r\n\r\n250 early' : undefined) },
    ],
    ['nor when they are not replies', { RCPT: (_, times) => (times === 0 ? 'hello' : undefined) }],
  ])('%s: the session ends, and the next has another', async (_, script) => {
    const { server, transport } = await start(script);
    expect(await send(transport)).toEqual([['deferred', 0, expect.any(String)]]);
    expect(server.messages).toEqual([]);
    expect(await send(transport)).toEqual([DELIVERED]);
    expect(server.connections()).toBe(2);
  });
});

describe('a server that ends the session', () => {
  const once = (reply: string) => (_: string, times: number) => (times === 0 ? reply : undefined);

  it.each<[string, Script]>([
    ['MAIL', { MAIL: once('421 4.3.2 Bye') }],
    ['RCPT', { RCPT: once('421 4.3.2 Bye') }],
    ['DATA', { DATA: once('421 4.3.2 Bye') }],
    ['the final dot', { dot: once('421 4.3.2 Bye') }],
  ])('with 421 to %s defers, and the next message has another', async (_, script) => {
    const { server, transport } = await start(script);
    expect(await send(transport)).toEqual([['deferred', 421, 'Bye']]);
    expect(await send(transport)).toEqual([DELIVERED]);
    expect(server.connections()).toBe(2);
  });

  it('with 421 to the first recipient is quoted for all of them', async () => {
    const closing: Write = (socket, text) => void (text.startsWith('421') ? socket.end(text) : socket.write(text));
    const { transport } = await start({ RCPT: once('421 4.3.2 Bye') }, closing);
    expect(await send(transport, three)).toEqual(Array(3).fill(['deferred', 421, 'Bye']));
  });

  it.each(['421 4.4.2 Idle too long', '250 2.0.0 Ok', 'hello'])(
    'or says “%s” while it is idle costs no attempt',
    async (word) => {
      const { server, transport } = await start();
      expect(await send(transport)).toEqual([DELIVERED]);
      server.say(word);
      await sleep(50);
      expect(await send(transport)).toEqual([DELIVERED]);
      expect(server.connections()).toBe(2);
    },
  );

  it('in the middle of a reply counts only as a refusal', async () => {
    const cutOff: Write = (socket, text) => (text.startsWith('5') ? socket.end(text.trim()) : socket.write(text));
    const { transport } = await start({ RCPT: once('550 5.1.1 No suc') }, cutOff);
    expect(await send(transport)).toEqual([['deferred', 550, 'No suc']]);
    const half: Write = (socket, text) => (text.includes('half') ? socket.end(text.trim()) : socket.write(text));
    const other = await start({ dot: once('250 2.0.0 half') }, half);
    expect(await send(other.transport)).toEqual([['unknown', 0, expect.any(String)]]);
  });

  it('in the middle of a refusal after the final dot leaves it unknown whether a copy is out', async () => {
    const cutOff: Write = (socket, text) => (text.startsWith('4') ? socket.end(text.trim()) : socket.write(text));
    const { transport } = await start({ dot: once('451 4.3.0 Lat') }, cutOff);
    expect(await send(transport)).toEqual([['unknown', 451, 'Lat']]);
  });
});

describe('a server out of step', () => {
  const once = (reply: string) => (_: string, times: number) => (times === 0 ? reply : undefined);

  it.each<[string, Script]>([
    ['that answers one command twice is not told the message as commands', { RCPT: once('250 Ok\r\n250 Ok') }],
    ['that takes DATA with a 250 is not either', { DATA: once('250 Ok') }],
    ['that asks for the message too early does not get it', { RCPT: once('354 Go on') }],
    ['that accepts the message before it was sent does not get it', { DATA: once('354 Go on\r\n250 Ok') }],
  ])('%s', async (_, script) => {
    const { server, transport } = await start(script);
    expect(await send(transport)).toEqual([['deferred', expect.any(Number), expect.any(String)]]);
    expect([server.messages, server.lines.filter((line) => line.startsWith('Subject'))]).toEqual([[], []]);
    expect(await send(transport)).toEqual([DELIVERED]);
    expect(server.connections()).toBe(2);
  });

  it('that answers more than it was asked on a kept session is believed no refusal', async () => {
    const { server, transport } = await start({
      RCPT: (_, times) => (times === 1 ? '550 5.1.1 No\r\n250 Ok' : undefined),
    });
    expect(await send(transport)).toEqual([DELIVERED]);
    expect(await send(transport)).toEqual([DELIVERED]);
    expect(server.connections()).toBe(2);
  });

  it('that accepts messages before they were sent gets none, on all connections at once', async () => {
    const asked: Socket[] = [];
    const togetherAtTen: Write = (socket, text) => {
      const isHeld = text.startsWith('354') && asked.push(socket) <= 10;
      const answered = isHeld ? asked.filter(() => asked.length === 10) : [socket];
      for (const each of answered) each.write(text);
    };
    const { server, transport } = await start(
      { DATA: () => '354 Go on\r\n250 Ok' },
      { write: togetherAtTen },
      { sessionsMax: 10 },
    );
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => send(transport)));
    expect(outcomes.flat().map(([outcome]) => outcome)).toEqual(Array(10).fill('deferred'));
    expect([server.messages, server.lines.filter((line) => line.startsWith('Subject'))]).toEqual([[], []]);
  });

  it('that refuses a message before its end is not sent the rest', async () => {
    const { server, transport } = await start({}, (socket, text) => {
      socket.write(text);
      if (!text.startsWith('354')) return;
      socket.pause();
      setTimeout(() => void socket.write('552 5.3.4 Too large\r\n'), 20);
      setTimeout(() => void socket.resume(), 200);
    });
    const text = LINE.repeat(500_000); // more than the buffers of two sockets may hold
    expect(await send(transport, { text })).toEqual([['bounced', 552, 'Too large']]);
    await expect.poll(server.openConnections).toBe(0);
    expect(server.messages).toEqual([]);
  });
});
