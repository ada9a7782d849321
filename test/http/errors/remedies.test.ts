import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let key: string;
let domainId: string;
let elsewhere: string;

beforeAll(async () => {
  service = await startService();
  const organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
  elsewhere = (await service.makeKey(organizationId, domainId, { allowedCidrs: ['192.0.2.0/24'] })).value;
});
afterAll(() => service.close());

const errorOf = async (options: Parameters<Service['request']>[0]) => (await service.request(options)).json().error;
const post = (url: string, payload: object) => errorOf({ method: 'POST', url, key, payload });

describe('an error says what to do', () => {
  test.each([
    [undefined, 'Authorization is required: send Authorization: Bearer <API key>'],
    ['ob_live_x', 'Authorization is malformed: send Authorization: Bearer <API key>'],
    ['Basic dXNlcjpwYXNz', 'Authorization is malformed: send Authorization: Bearer <API key>'],
  ])('when the header is %j', async (authorization, sentence) => {
    const headers = authorization === undefined ? {} : { authorization };
    expect(await errorOf({ url: '/v1/messages', headers })).toEqual({
      code: 'unauthorized',
      message: 'invalid or missing API key',
      details: { Authorization: [sentence] },
    });
  });

  test('but not about a key that is unknown', async () => {
    expect(await errorOf({ url: '/v1/messages', key: 'ob_live_x' })).toEqual({
      code: 'unauthorized',
      message: 'invalid or missing API key',
    });
  });

  test('for a request from another network, with the address it came from', async () => {
    expect((await errorOf({ url: '/v1/messages', key: elsewhere })).message).toBe(
      'API key is not allowed from this address, 127.0.0.1: use it from a network in its allowed_cidrs',
    );
  });

  test.each([
    ['a@b.test, c@d.test', 'to'],
    ['Bee <a@b.test>; c@d.test', 'to'],
    [['x@b.test', 'a@b.test,c@d.test'], 'to[1]'],
  ])('when several addresses are in one text: %j', async (to, field) => {
    const { details } = await post('/v1/messages/send', { from: 'a@example.test', to, subject: 'x', text: 'x' });
    expect(details).toEqual({
      to: [`${field} is not an email address: to send to several addresses, use an array with one address per item`],
    });
  });

  test('when a tag to look for has no name, and when a part of one would cancel messages', async () => {
    expect((await errorOf({ url: '/v1/messages?tag=:x', key })).details).toEqual({
      tag: ['tag must be <name>:<value>, such as order:1234, or one of the two'],
    });
    expect((await post('/v1/messages/cancel', { filter: { tag: 'order' } })).details).toEqual({
      filter: ['filter.tag must be <name>:<value>, such as order:1234'],
    });
  });

  test.each([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['2001:db8::1/32', '2001:db8::/32'],
    ['::ffff:10.1.2.3/104', '10.0.0.0/8'],
  ])('when a network has more bits than its prefix: %s', async (network, meant) => {
    const asked = { name: 'x', domain_id: domainId, permissions: ['send'], allowed_cidrs: ['192.0.2.7', network] };
    expect((await post('/v1/api-keys', asked)).details).toEqual({
      allowed_cidrs: [
        `allowed_cidrs[1] must not have bits after its prefix: use ${meant} for the network, or the address without a prefix`,
      ],
    });
    const answer = await service.request({
      method: 'POST',
      url: '/v1/api-keys',
      key,
      payload: { ...asked, allowed_cidrs: ['192.0.2.7', meant, '::1'] },
    });
    expect(answer.statusCode).toBe(201);
  });
});

test('the root redirects to the dashboard', async () => {
  const answer = await service.request({ url: '/' });
  expect([answer.statusCode, answer.headers.location]).toEqual([302, '/dashboard']);
});
