import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allOf, listen, openConnection } from '../../support/connections.ts';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';

let service: DatabaseService;
let port: number;
let key: string;

beforeAll(async () => {
  service = await startDatabaseService();
  port = await listen(service);
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
});
afterAll(() => service.close());

/** Requests events on a new connection. */
const ask = async (query: string, accept: string): Promise<Socket> => {
  const socket = await openConnection(port);
  socket.write(
    `GET /v1/events?${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nAccept: ${accept}\r\n\r\n`,
  );
  return socket;
};

test('a stream ends when its reader closes its side', async () => {
  const socket = await ask('after=start', 'text/event-stream');
  await expect.poll(() => service.deps.liveFeed.size()).toBe(1);
  await once(socket, 'readable');
  socket.end();
  expect(await allOf(socket)).toContain('text/event-stream');
  await expect.poll(() => service.deps.liveFeed.size()).toBe(0);
});

test('a stream also ends if its reader has closed its side right after the request', async () => {
  const socket = await ask('after=start', 'text/event-stream');
  socket.end();
  await allOf(socket);
  await expect.poll(() => service.deps.liveFeed.size()).toBe(0);
});

test('a reader that waits and closes its side is answered at once', async () => {
  const page = await service.request({ url: '/v1/events?after=start', key });
  const beganMs = performance.now();
  const socket = await ask(`after=${page.json().next_cursor}&wait=30`, 'application/json');
  socket.end();
  expect(await allOf(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n.*"has_more":false/s);
  expect(performance.now() - beganMs).toBeLessThan(20_000);
});
