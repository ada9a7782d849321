import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from './support/service.ts';

describe('open requests', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ descriptors: 8 });
    await service.server.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(() => service.close());

  const makeKey = async (name: string): Promise<string> => {
    const organizationId = await service.makeOrganization();
    return (await service.makeKey(organizationId, await service.makeDomain(organizationId, name))).value;
  };

  /** Opens a request whose body never arrives. */
  const open = (key: string) => {
    const { port } = service.server.server.address() as AddressInfo;
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': 10 };
    const sent = httpRequest({
      host: '127.0.0.1',
      port,
      method: 'POST',
      path: '/v1/messages/send',
      headers,
      agent: false,
    });
    sent.on('error', () => undefined).flushHeaders();
    const answered = new Promise<IncomingMessage>((resolve) => sent.once('response', resolve));
    return { answered, sent };
  };

  test('of one organization leave connections for another', async () => {
    const [key, other] = [await makeKey('a.test'), await makeKey('b.test')];
    const slow = [open(key), open(key), open(key)];
    const refused = await Promise.race(slow.map(({ answered }) => answered));
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '5']);
    refused.destroy();
    const theirs = open(other);
    theirs.sent.end('0123456789');
    expect((await theirs.answered).statusCode).toBe(400);
    for (const { sent } of slow) sent.destroy();
    await expect.poll(async () => (await service.request({ url: '/v1/organization', key })).statusCode).toBe(200);
  });
});
