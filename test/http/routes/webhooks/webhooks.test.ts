import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Service, startService } from '../../support/service.ts';

let service: Service;
let key: string;
let domainId: string;
let foreignDomainId: string;

beforeAll(async () => {
  service = await startService();
  const [own, foreign] = [await service.makeOrganization(), await service.makeOrganization()];
  domainId = await service.makeDomain(own, 'example.test');
  foreignDomainId = await service.makeDomain(foreign, 'foreign.test');
  key = (await service.makeKey(own, domainId, {})).value;
});
afterAll(() => service.close());

const ask = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object, headers = {}) => {
  const answer = await service.request({ method, url, key, headers, ...(payload === undefined ? {} : { payload }) });
  return { status: answer.statusCode, headers: answer.headers, body: answer.body === '' ? null : answer.json() };
};

const HOOK = { url: 'http://127.0.0.1:9/', events: ['message.*'] };
const register = async (more: object = {}) => (await ask('POST', '/v1/webhooks', { ...HOOK, ...more })).body;

describe('a webhook', () => {
  test('is registered with filters and headers, whose values are never shown', async () => {
    const filters = { domain_ids: [domainId], tags: ['kind:receipt'] };
    const made = await register({ filters, headers: { 'X-Api-Key': 's3cret', Authorization: 'Bearer s3cret' } });
    expect(made).toMatchObject({ filters, header_names: ['x-api-key', 'authorization'], status: 'enabled' });
    const { body } = await ask('GET', `/v1/webhooks/${made.id}`);
    expect(JSON.stringify(body)).not.toContain('s3cret');
    expect(made).toEqual({ ...body, secret: made.secret, verification_key: null });
  });

  test('is changed in the fields that are sent, and as If-Match says', async () => {
    const { id, secret, verification_key: _, ...made } = await register({ description: 'Orders' });
    const url = `/v1/webhooks/${id}`;
    const changed = await ask('PATCH', url, { events: ['domain.*'], description: null }, { 'if-match': '"0"' });
    expect([changed.status, changed.body]).toEqual([200, { ...made, id, events: ['domain.*'], description: null }]);
    expect((await ask('PATCH', url, { events: ['message.*'] }, { 'if-match': '"0"' })).status).toBe(412);
    expect((await ask('PATCH', url, { events: ['domain.*'] })).headers.etag).toBe(changed.headers.etag);
    const disabled = await ask('PATCH', url, { enabled: false });
    expect(disabled.body).toMatchObject({ status: 'disabled', disabled_reason: 'requested' });
    expect((await ask('PATCH', url, { enabled: true })).body).toMatchObject({
      status: 'enabled',
      disabled_reason: null,
    });
  });

  test.each([
    [{ url: 'ftp://example.com/' }, 'must be an https or http URL'],
    [{ events: [] }, 'events must not be empty'],
    [{ headers: { Host: 'x' } }, 'must not contain headers that the service or the connection sets'],
    [{ headers: { 'Webhook-Signature': 'x' } }, 'must not contain headers that the service or the connection sets'],
    [{ headers: { 'svix-id': 'x' } }, 'must not contain headers that the service or the connection sets'],
    [{ headers: { 'content-type': 'x' } }, 'must not contain headers that the service or the connection sets'],
    [{ headers: { 'transfer-encoding': 'x' } }, 'must not contain headers that the service or the connection sets'],
    [{ headers: { 'x y': 'x' } }, 'must have valid HTTP header names'],
    [{ headers: { 'x-y': 'a\r\nb' } }, 'must contain only printable ASCII'],
    [{ headers: { 'x-y': '' } }, 'must contain only printable ASCII'],
    [{ headers: Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`x-${at}`, 'x'])) }, 'at most 10 keys'],
    [{ filters: { tags: ['a\nb'] } }, 'must not contain line breaks'],
    [{ colour: 'red' }, 'colour'],
  ])('cannot get %j', async (fields, problem) => {
    for (const [method, url, payload] of [
      ['POST', '/v1/webhooks', { ...HOOK, ...fields }],
      ['PATCH', `/v1/webhooks/${(await register()).id}`, fields],
    ] as const) {
      const { status, body } = await ask(method, url, payload);
      expect([status, JSON.stringify(body.error.details)]).toEqual([400, expect.stringContaining(problem)]);
    }
  });

  test.each([
    ...['content-length', 'content-encoding', 'proxy-authorization', 'user-agent', 'date', 'expect', 'connection'],
    ...['keep-alive', 'te', 'trailer', 'upgrade', 'webhook-id', 'webhook-replay', 'svix-signature'],
  ])('cannot get the header %s, in any spelling', async (name) => {
    for (const spelt of [name, name.toUpperCase()]) {
      const { status, body } = await ask('POST', '/v1/webhooks', { ...HOOK, headers: { [spelt]: 'x' } });
      expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    }
  });

  test('cannot filter by a domain of another organization', async () => {
    const filters = { domain_ids: [foreignDomainId] };
    const { status, body } = await ask('POST', '/v1/webhooks', { ...HOOK, filters });
    expect([status, body.error.code]).toEqual([403, 'other_organization']);
  });

  test('gets another secret; more than two earlier ones that still sign are refused', async () => {
    const { id, secret } = await register();
    const rotate = (grace: number) => ask('POST', `/v1/webhooks/${id}/rotate-secret`, { grace_period_minutes: grace });
    const first = await rotate(60);
    expect(first.body.secret).not.toBe(secret);
    expect(Date.parse(first.body.previous_secret_expires_at)).toBeGreaterThan(Date.now() + 3_500_000);
    expect((await rotate(60)).status).toBe(200);
    expect((await rotate(60)).body.error.code).toBe('too_many_live_secrets');
    expect((await rotate(0)).status).toBe(200);
  });

  test('leaves nothing in the vault from a refused rotation or change', async () => {
    const { id } = await register();
    const url = `/v1/webhooks/${id}`;
    const rotate = (headers = {}) => ask('POST', `${url}/rotate-secret`, { grace_period_minutes: 60 }, headers);
    const stale = { 'if-match': '"99"' };
    for (let rotated = 0; rotated < 2; rotated += 1) expect((await rotate()).status).toBe(200);
    const { secrets } = service.deps.context;
    const put = vi.spyOn(secrets, 'put');
    onTestFinished(() => put.mockRestore());
    expect((await rotate()).status).toBe(409);
    expect((await rotate(stale)).status).toBe(412);
    expect((await ask('PATCH', url, { headers: { 'x-api-key': 's3cret' } }, stale)).status).toBe(412);
    const ids = put.mock.calls.map(([secretId]) => secretId);
    expect(ids).toHaveLength(3);
    for (const secretId of ids) expect(await secrets.get(secretId)).toBeUndefined();
    await ask('PATCH', url, { headers: { 'x-api-key': 's3cret' } });
    expect(await secrets.get(put.mock.calls.at(-1)?.[0] ?? '')).toBe('{"x-api-key":"s3cret"}');
  });

  test('is pinged, unless it is disabled', async () => {
    const { id } = await register();
    const { status, body } = await ask('POST', `/v1/webhooks/${id}/ping`);
    expect([status, body]).toEqual([
      202,
      {
        object: 'webhook_ping',
        webhook_id: id,
        event_id: expect.stringMatching(/^evt_/),
        delivery_id: expect.stringMatching(/^dlv_/),
      },
    ]);
    await ask('PATCH', `/v1/webhooks/${id}`, { enabled: false });
    expect((await ask('POST', `/v1/webhooks/${id}/ping`)).body.error.code).toBe('webhook_disabled');
  });
});
