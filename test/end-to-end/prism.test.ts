import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { prismBefore } from '../support/prism.ts';

/** `.ci/openapi` runs this test with Prism, to prove that Prism reports violations at all. */
const isThere = process.env.PRISM_CLI !== undefined;

const content = (type: string) => ({
  'application/json': { schema: { type: 'object', properties: { id: { type } }, required: ['id'] } },
});
const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Things', version: '1' },
  paths: {
    '/things': {
      get: { responses: { 200: { description: 'Read.', content: content('string') } } },
      post: {
        requestBody: { content: content('string') },
        responses: { 202: { description: 'Made.', content: content('string') } },
      },
    },
  },
};

test(isThere ? 'Prism tells what is not as documented' : 'tests reach the service itself without Prism', async () => {
  const answers: Readonly<Record<string, readonly [status: number, body: string]>> = {
    'GET /openapi.json': [200, JSON.stringify(DOCUMENT)],
    'GET /things': [200, '{"id":7}'],
    'GET /things?status=418': [418, '{}'],
    'POST /things': [202, '{"id":"x"}'],
  };
  const server = createServer(({ method, url }, response) => {
    const [status, body] = answers[`${method} ${url}`] ?? [500, ''];
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const upstream = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const front = await prismBefore(upstream);
  const ask = async (path: string, body?: string): Promise<number> => {
    const sent = body === undefined ? {} : { method: 'POST', body, headers: { 'content-type': 'application/json' } };
    return (await fetch(front.url + path, sent)).status;
  };
  try {
    expect([await ask('/things'), await ask('/things?status=418')]).toEqual([200, 418]);
    for (const body of ['{"id":"x"}', '{"id":7}', '{"id":']) expect(await ask('/things', body)).toBe(202);
  } finally {
    await front.close();
    server.closeAllConnections();
    server.close();
  }
  if (!isThere) {
    expect(front.url).toBe(upstream);
    return;
  }
  expect(front.findings).toEqual([
    expect.stringContaining('GET /things 200: response.body.id'),
    expect.stringContaining('GET /things?status=418 418: response'),
    expect.stringContaining('POST /things 202: request.body.id'),
  ]);
}, 180_000);
