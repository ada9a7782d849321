import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { createHttpWebhookTarget } from '../../../src/adapters/webhook-target/http.ts';
import type { WebhookTarget } from '../../../src/domain/ports/webhooks.ts';

const V4 = { address: '127.0.0.1', family: 4 };
const V6 = { address: '::1', family: 6 };

let dual: Server;
let v4Only: Server;
const seen: (string | undefined)[] = [];

const listen = async (host: string): Promise<Server> => {
  const server = createServer(({ socket }, response) => {
    seen.push(socket.remoteAddress?.replace('::ffff:', ''));
    response.writeHead(200, { connection: 'close' }).end();
  }).listen(0, host);
  await once(server, 'listening');
  return server;
};

beforeAll(async () => {
  dual = await listen('::');
  v4Only = await listen('127.0.0.1');
});
afterAll(() => {
  for (const server of [dual, v4Only]) server.close();
});

const urlAt = (host: string, server = dual): string => `http://${host}:${(server.address() as AddressInfo).port}/`;

/** @returns source addresses of three posts, or the reason for a missing response. */
const postedFrom = async (
  sourceAddresses: readonly string[],
  url: string,
  lookupAll = async () => [V6, V4],
): Promise<readonly unknown[]> => {
  const target: WebhookTarget = createHttpWebhookTarget({
    ...{ system: createSystem(), allowLoopback: true, lookupAll, sourceAddresses },
  });
  const from: unknown[] = [];
  for (let post = 0; post < 3; post += 1) {
    seen.length = 0;
    const { status, text } = await target.post({
      organizationId: 'org_1',
      url,
      headers: {},
      body: '{}',
      timeoutMs: 5_000,
    });
    from.push(status === 200 ? seen[0] : text);
  }
  await target.close();
  return from;
};

const ALL = ['127.0.0.7', '127.0.0.8', '::1'];

test('posts come from the source addresses of the kind that the endpoint has, in turn', async () => {
  const url = urlAt('hook.test');
  expect((await postedFrom(ALL, url, async () => [V4])).toSorted()).toEqual(['127.0.0.7', '127.0.0.8', '127.0.0.8']);
  expect(await postedFrom(ALL, url, async () => [V6])).toEqual(['::1', '::1', '::1']);
  expect(await postedFrom(ALL, url)).toEqual(['::1', '::1', '::1']);
});

test('posts to an IP come from one of its kind', async () => {
  expect((await postedFrom(ALL, urlAt('127.0.0.1'))).toSorted()).toEqual(['127.0.0.7', '127.0.0.8', '127.0.0.8']);
  expect(await postedFrom(ALL, urlAt('[::1]'))).toEqual(['::1', '::1', '::1']);
});

test('an endpoint that does not answer at its first kind is reached at its second', async () => {
  expect(await postedFrom(['127.0.0.7', '::1'], urlAt('hook.test', v4Only))).toEqual(Array(3).fill('127.0.0.7'));
});

test('an endpoint without an address of a kind that has a source address is not reached', async () => {
  const [refused] = await postedFrom(['127.0.0.7'], urlAt('hook.test'), async () => [V6]);
  expect(refused).toBe('no answer: hook.test has no IPv4 address');
  expect((await postedFrom(['127.0.0.7'], urlAt('[::1]')))[0]).toBe('no answer: ::1 has no IPv4 address');
});
