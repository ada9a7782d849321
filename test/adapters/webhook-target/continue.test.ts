import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { createHttpWebhookTarget } from '../../../src/adapters/webhook-target/http.ts';

/** Posts twice on one connection to an endpoint that says this before its answer. */
const answersAfter = async (early: readonly string[], body = 'thanks') => {
  const server = createServer((request, response) => {
    for (const line of early) response.socket?.write(`HTTP/1.1 ${line}\r\n\r\n`);
    request.resume();
    request.on('end', () => response.end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const target = createHttpWebhookTarget({ system: createSystem(), allowLoopback: true });
  onTestFinished(async () => {
    await target.close();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const post = { organizationId: 'org_1', url, body: '{}', timeoutMs: 20_000, headers: {} };
  return [await target.post(post), await target.post(post)].map(({ status, text }) => [status, text]);
};

test.each([[['100 Continue']], [['100 Continue', '103 Early Hints']], [['102 Processing']], [[]]])(
  'an endpoint that first answers %j has answered',
  async (early) => {
    expect(await answersAfter(early)).toEqual([
      [200, 'thanks'],
      [200, 'thanks'],
    ]);
  },
);

test('an answer that quotes one is read as it is', async () => {
  const body = 'You sent: HTTP/1.1 100 Continue';
  expect(await answersAfter(['100 Continue'], body)).toEqual([
    [200, body],
    [200, body],
  ]);
});
