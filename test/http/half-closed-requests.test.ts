import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allOf, countConnections, listen, openConnection, statusesIn } from './support/connections.ts';
import { type Service, startService } from './support/service.ts';

let service: Service;
let port: number;
let key: string;

beforeAll(async () => {
  service = await startService({}, () => undefined);
  port = await listen(service);
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'shop.test');
  key = (await service.makeKey(organizationId, domainId, { permissions: ['send', 'read'] })).value;
});
afterAll(() => service.close());

const BODY = JSON.stringify({ from: 'a@shop.test', to: 'b@example.net', subject: 'Hi', text: 'x'.repeat(2_000) });

const head = (line: string, ...more: readonly string[]): string =>
  [`${line} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${key}`, ...more, '', ''].join('\r\n');
const post = (...more: readonly string[]): string =>
  head('POST /v1/messages/send', 'Content-Type: application/json', ...more);

const whole = (): string => `${post(`Content-Length: ${BODY.length}`)}${BODY}`;
const byteByByte = (): string => {
  const chunks = [...BODY].map((byte) => `1\r\n${byte}\r\n`);
  return `${post('Transfer-Encoding: chunked')}${chunks.join('')}0\r\n\r\n`;
};

/** Number of messages accepted so far. */
const countAccepted = async (): Promise<number> => {
  const page = await service.deps.context.store.readAll({ limit: 10_000 });
  return page.events.filter(({ type }) => type === 'MessageAccepted').length;
};

describe('a client that closes its side right after its request', () => {
  test.each([
    ['whole', whole],
    ['one byte a chunk', byteByByte],
  ])('learns what was accepted, and then the connection ends: %s', async (_, request) => {
    const before = await countAccepted();
    const socket = await openConnection(port);
    socket.end(request());
    expect(statusesIn(await allOf(socket))).toEqual(['202']);
    expect(await countAccepted()).toBe(before + 1);
  });

  test('gets the responses to everything that it pipelined', async () => {
    const socket = await openConnection(port);
    socket.end(`${whole()}${head('GET /livez')}${whole()}`);
    expect(statusesIn(await allOf(socket))).toEqual(['202', '200', '202']);
  });

  test('in the middle of its body sends nothing', async () => {
    const before = await countAccepted();
    const socket = await openConnection(port);
    socket.end(whole().slice(0, -10));
    expect(statusesIn(await allOf(socket))).not.toContain('202');
    expect(await countAccepted()).toBe(before);
  });

  test.each<[string, (socket: Socket) => void]>([
    ['behind its request', (socket) => socket.write(whole(), () => socket.resetAndDestroy())],
    ['in the turn of its request', (socket) => socket.write(whole()) && socket.resetAndDestroy()],
    ['behind two requests', (socket) => socket.write(whole().repeat(2), () => socket.resetAndDestroy())],
    ['behind its end', (socket) => socket.end(whole(), () => socket.resetAndDestroy())],
    ['behind its end, with two requests', (socket) => socket.end(whole().repeat(2), () => socket.resetAndDestroy())],
  ])('and resets the connection %s leaves none open', async (_, leave) => {
    for (let round = 0; round < 20; round += 1) {
      const socket = await openConnection(port);
      socket.on('error', () => undefined);
      leave(socket);
      await once(socket, 'close');
    }
    await expect.poll(() => countConnections(service), { timeout: 5_000 }).toBe(0);
    const socket = await openConnection(port);
    socket.end(head('GET /livez'));
    expect(statusesIn(await allOf(socket))).toEqual(['200']);
  });

  test('after a request and garbage is answered about the garbage, and what it sent has no effect', async () => {
    const before = await countAccepted();
    const socket = await openConnection(port);
    socket.end(`${whole()}garbage\r\n\r\n`);
    expect(statusesIn(await allOf(socket))).toEqual(['400']);
    expect(await countAccepted()).toBe(before);
  });
});
