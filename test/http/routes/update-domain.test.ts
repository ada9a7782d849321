import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../support/service.ts';

describe('the branding of a domain', () => {
  let service: Service;
  let key: string;
  let id: string;

  beforeAll(async () => {
    service = await startService();
    const organizationId = await service.makeOrganization();
    id = await service.makeDomain(organizationId, 'example.test');
    key = (await service.makeKey(organizationId, id)).value;
  });
  afterAll(() => service.close());

  const patch = async (payload: object, headers = {}) => {
    const answer = await service.request({ method: 'PATCH', url: `/v1/domains/${id}`, key, payload, headers });
    return { status: answer.statusCode, body: answer.json(), etag: answer.headers.etag };
  };

  test('is empty at first, replaced as a whole, left alone when absent, and removed by null', async () => {
    const url = `/v1/domains/${id}`;
    expect((await service.request({ url, key })).json().branding).toBeNull();
    const first = await patch({ branding: { name: 'Müller & Söhne <b>', color: '#1A56B0' } });
    expect([first.status, first.body.branding]).toEqual([
      200,
      { name: 'Müller & Söhne <b>', color: '#1a56b0', logo_url: null },
    ]);
    const second = await patch({ branding: { logo_url: 'https://example.test/logo.png' } });
    expect(second.body.branding).toEqual({ name: null, color: null, logo_url: 'https://example.test/logo.png' });
    const unchanged = await patch({});
    expect([unchanged.body.branding, unchanged.etag]).toEqual([second.body.branding, second.etag]);
    expect((await patch({ branding: second.body.branding })).etag).toBe(second.etag);
    expect((await patch({ branding: null }, { 'if-match': first.etag })).status).toBe(412);
    expect((await patch({ branding: null }, { 'if-match': second.etag })).body.branding).toBeNull();
  });

  test.each([
    [{ name: 'a\r\nb' }, 'branding.name must not contain line breaks or control characters'],
    [{ name: 'a\0b' }, 'branding.name must not contain line breaks or control characters'],
    [{ name: ' ' }, 'branding.name must not be blank'],
    [{ name: 'a\u202eb' }, 'branding.name must not contain characters that change the direction of text'],
    [{ name: 'x'.repeat(101) }, 'branding.name must have at most 100 characters'],
    [{ color: 'red' }, 'branding.color must be a color such as #1a56b0'],
    [{ color: '#fff;}body{x' }, 'branding.color must be a color such as #1a56b0'],
    [{ logo_url: 'http://example.test/a.png' }, 'branding.logo_url must be a complete https URL in ASCII'],
    [{ logo_url: "javascript:alert('1')" }, 'branding.logo_url must be a complete https URL in ASCII'],
    [{ logo_url: 'https://a.test/x" onerror="x' }, 'branding.logo_url must be a complete https URL in ASCII'],
  ])('is refused as %j', async (branding, problem) => {
    const { status, body } = await patch({ branding });
    expect(status).toBe(400);
    expect(JSON.stringify(body.error.details)).toContain(problem);
  });
});

describe('inbound mail of a domain', () => {
  let service: Service;
  let key: string;
  let url: string;

  beforeAll(async () => {
    service = await startService({ context: { bounceDomain: 'bounce.service.test' } });
    const organizationId = await service.makeOrganization();
    const id = await service.makeDomain(organizationId, 'example.test');
    url = `/v1/domains/${id}`;
    key = (await service.makeKey(organizationId, id)).value;
  });
  afterAll(() => service.close());

  const patch = async (payload: object) => {
    const answer = await service.request({ method: 'PATCH', url, key, payload });
    return { status: answer.statusCode, body: answer.json() };
  };
  const mxOf = (body: { records: readonly { purpose: string }[] }) =>
    body.records.filter(({ purpose }) => purpose === 'mx');

  test('is off at first; its MX record is listed while it is on, and not required', async () => {
    const first = (await service.request({ url, key })).json();
    expect([first.inbound, mxOf(first)]).toEqual([{ mx: false }, []]);
    const { body } = await patch({ inbound: { mx: true } });
    expect(body.inbound).toEqual({ mx: true });
    expect(mxOf(body)).toMatchObject([
      { type: 'MX', name: 'example.test', value: '10 bounce.service.test', required: false },
    ]);
    expect((await patch({})).body.inbound).toEqual({ mx: true });
    expect(mxOf((await patch({ inbound: { mx: false } })).body)).toEqual([]);
  });

  test('can be turned on when the domain is added', async () => {
    const add = async (name: string, more: object) => {
      const answer = await service.request({ method: 'POST', url: '/v1/domains', key, payload: { name, ...more } });
      const { inbound, records, id } = answer.json();
      return { status: answer.statusCode, inbound, mx: mxOf({ records }).length, id };
    };
    const receiving = await add('reply.example.test', { inbound: { mx: true } });
    expect(receiving).toMatchObject({ status: 201, inbound: { mx: true }, mx: 1 });
    expect(await add('news.example.test', { inbound: { mx: false } })).toMatchObject({ inbound: { mx: false }, mx: 0 });
    expect(await add('mail.example.test', {})).toMatchObject({ inbound: { mx: false }, mx: 0 });
    await service.request({ method: 'DELETE', url: `/v1/domains/${receiving.id}`, key });
    const again = await add('reply.example.test', {});
    expect(again).toMatchObject({ status: 201, id: receiving.id, inbound: { mx: false }, mx: 0 });
  });

  test.each([{ inbound: {} }, { inbound: { mx: 'yes' } }, { inbound: { mx: true, a: 1 } }])(
    'is refused as %j',
    async (payload) => {
      expect((await patch(payload)).status).toBe(400);
      const added = { name: 'refused.example.test', ...payload };
      const answer = await service.request({ method: 'POST', url: '/v1/domains', key, payload: added });
      expect(answer.statusCode).toBe(400);
    },
  );
});
