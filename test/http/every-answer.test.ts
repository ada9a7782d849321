import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isRouteName, ROUTES } from '../../src/http/route-table.ts';
import { type Service, startService } from './support/service.ts';

let service: Service;
let key: string;
let port: number;

beforeAll(async () => {
  service = await startService({}, () => undefined);
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'a.test'))).value;
  await service.server.listen({ host: '127.0.0.1', port: 0 });
  port = (service.server.server.address() as AddressInfo).port;
});
afterAll(() => service.close());

const names = Object.keys(ROUTES).filter(isRouteName);
const urls = [...new Set(names.map((name) => name.split(' ')[1] ?? ''))];

describe('nosniff', () => {
  test.each(names)('is on the responses of %s, including a refusal', async (name) => {
    const [method, url = ''] = name.split(' ');
    for (const one of [undefined, key]) {
      const asked = { method: method as 'GET', url: url.replaceAll(/:\w+/g, 'none'), ...(one && { key: one }) };
      expect((await service.request(asked)).headers['x-content-type-options']).toBe('nosniff');
    }
  });

  test.each([
    ['an unknown path', 'GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['a path that is malformed', 'GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['what is no HTTP', 'hello\r\n\r\n'],
    ['headers that are too large', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['a tunnel', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ])('is on the response to %s', async (_what, text) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.write(text);
    await once(socket, 'end');
    expect(answer.toLowerCase()).toContain('\r\nx-content-type-options: nosniff\r\n');
  });
});

test('pages for people cannot be framed', async () => {
  for (const url of ['/docs', '/unsubscribe/none'])
    expect((await service.request({ url })).headers['content-security-policy']).toContain("frame-ancestors 'none'");
});

/** Paths that the `:id` of another route matches too. */
const named = urls.filter((url) => url.startsWith('/v1/') && !url.includes(':'));

describe.each(named)('%s', (url) => {
  const methods = names.filter((name) => name.endsWith(` ${url}`)).map((name) => name.split(' ')[0] ?? '');
  const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => !methods.includes(method));

  test.each(others)('answers %s with the methods it accepts, and looks up no id', async (method) => {
    const answer = await service.request({ method: method as 'GET', url, key });
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, methods.join(', ')]);
    expect((await service.request({ method: method as 'GET', url })).statusCode).toBe(401);
  });
});
