import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let key: string;
let domainId: string;
let foreignDomainId: string;

beforeAll(async () => {
  service = await startService();
  const organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  foreignDomainId = await service.makeDomain(await service.makeOrganization(), 'foreign.test');
  key = (await service.makeKey(organizationId, domainId)).value;
});
afterAll(() => service.close());

const post = async (url: string, payload: object) => {
  const answer = await service.request({ method: 'POST', url, key, payload });
  return { status: answer.statusCode, error: answer.json().error };
};

describe('problems that need a look-up are reported together with the others:', () => {
  test.each(['http://192.168.1.1/hook', 'https://10.0.0.1/', 'ftp://example.com', 'not a url'])(
    'the address of a webhook: %s',
    async (url) => {
      const { status, error } = await post('/v1/webhooks', { url, events: ['no.such'], secret: 'mine' });
      expect([status, error.code]).toEqual([400, 'invalid_request']);
      expect(error.details).toEqual({
        url: [expect.stringMatching(/^url /)],
        events: [expect.stringMatching(/^events\[0\] must be one of /)],
        secret: ['secret is not a known field'],
      });
      expect((await post('/v1/webhooks', { url, events: ['message.*'] })).error.details).toEqual({
        url: error.details.url,
      });
    },
  );

  test('a private address is refused with what may be used instead', async () => {
    const { error } = await post('/v1/webhooks', { url: 'http://192.168.1.1', events: ['message.*'] });
    expect(error.details.url).toEqual([
      'url must lead to a public address, by https; while mail is captured, http and this machine are taken too',
    ]);
  });

  test.each(['dom_aaaaaaaaaaaaaaaaaaaaaaaaaa', 'nonsense', ''])('the domain of a key: %j', async (domain) => {
    const { status, error } = await post('/v1/api-keys', { domain_id: domain, permissions: ['fly'] });
    expect([status, error.code]).toEqual([400, 'invalid_request']);
    expect(error.details).toEqual({
      name: ['name is required'],
      permissions: [expect.stringContaining('permissions[0] must be one of')],
      domain_id: ['domain_id is not the id of a domain of your organization'],
    });
    const alone = await post('/v1/api-keys', { name: 'x', domain_id: domain, permissions: ['send'] });
    expect([alone.status, alone.error.code]).toEqual([404, 'not_found']);
  });

  test('the domain of another organization is reported as missing; the organization’s own is not', async () => {
    const wrong = { name: '', permissions: ['send'] };
    const foreign = await post('/v1/api-keys', { ...wrong, domain_id: foreignDomainId });
    expect(Object.keys(foreign.error.details).sort()).toEqual(['domain_id', 'name']);
    const own = await post('/v1/api-keys', { ...wrong, domain_id: domainId });
    expect(Object.keys(own.error.details)).toEqual(['name']);
    const past = await post('/v1/api-keys', {
      name: 'x',
      permissions: ['send'],
      domain_id: 'x',
      expires_at: '2001-01-01',
    });
    expect(Object.keys(past.error.details).sort()).toEqual(['domain_id', 'expires_at']);
  });
});
