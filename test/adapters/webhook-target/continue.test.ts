import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { createHttpWebhookTarget } from '../../../src/adapters/webhook-target/http.ts';

/** Posts twice on one connection to an endpoint that writes these chunks before its response. */
const answersAfter = async (pieces: readonly string[], body = 'thanks') => {
  const server = createServer(async (request, response) => {
    for (const piece of pieces) {
      response.socket?.write(piece);
      if (pieces.length > 1) await sleep(5); // so that each is read separately
    }
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

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';

test.each([
  [[CONTINUE]],
  [[CONTINUE, HINTS]],
  [[HINTS, CONTINUE]],
  [[`${HINTS}${CONTINUE}`]],
  [[`${CONTINUE}${CONTINUE}`]],
  [['HTTP/1.1 102 Processing\r\n\r\n']],
  [['HTTP/1.1 100 \r\nX: y\r\n\r\n']],
  [[]],
])('an endpoint that first answers %j has answered', async (early) => {
  expect(await answersAfter(early)).toEqual([
    [200, 'thanks'],
    [200, 'thanks'],
  ]);
});

test.each(Array.from(CONTINUE, (_, at) => at))('so has one whose 100 arrives in two pieces, cut at %d', async (at) => {
  expect(await answersAfter([CONTINUE.slice(0, at), CONTINUE.slice(at)])).toEqual([
    [200, 'thanks'],
    [200, 'thanks'],
  ]);
});

test('and one whose 100 arrives byte by byte', async () => {
  expect(await answersAfter([...CONTINUE])).toEqual([
    [200, 'thanks'],
    [200, 'thanks'],
  ]);
});

test('an answer that quotes one is read unchanged', async () => {
  const body = 'You sent: HTTP/1.1 100 Continue';
  expect(await answersAfter([CONTINUE], body)).toEqual([
    [200, body],
    [200, body],
  ]);
});
