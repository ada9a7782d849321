import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { conforming, MESSAGE } from './service.ts';

const { service } = conforming();
const JSON_TYPE = { 'content-type': 'application/json' };

const send = (body: unknown, headers: Record<string, string> = {}, key?: string) =>
  service().ask({ method: 'POST', path: '/v1/messages/send', body, headers, ...(key === undefined ? {} : { key }) });
const post = (path: string, body: unknown, key?: string) =>
  service().ask({ method: 'POST', path, body, ...(key === undefined ? {} : { key }) });

describe('§4 Endpoints', () => {
  test('all request bodies are JSON with header Content-Type: application/json', async () => {
    const authorization = `Bearer ${service().admin}`;
    const body = JSON.stringify(MESSAGE);
    const sendAs = async (headers: Record<string, string>) =>
      (await service().raw('/v1/messages/send', { method: 'POST', body, headers: { authorization, ...headers } }))
        .status;
    expect(await sendAs(JSON_TYPE)).toBe(202);
    expect(await sendAs({ 'content-type': 'text/plain' })).toBe(415);
    expect(await sendAs({ 'content-type': 'application/x-www-form-urlencoded' })).toBe(415);
  });

  test('all requests carry the Authorization header', async () => {
    const paths = ['/v1/messages/send', '/v1/messages/analyze', '/v1/api-keys', '/v1/api-keys/key_x/rotate'];
    for (const path of paths) {
      const answer = await service().raw(path, { method: 'POST', body: '{}', headers: JSON_TYPE });
      expect([path, answer.status]).toEqual([path, 401]);
    }
  });

  test.each([
    ['/v1/messages/send', 202],
    ['/v1/messages/analyze', 200],
  ] as const)('POST %s needs the permission send', async (path, status) => {
    const able = await service().makeKey({ permissions: ['send'] });
    const unable = await service().makeKey({ permissions: ['read', 'manage'] });
    expect((await post(path, MESSAGE, able.value)).status).toBe(status);
    const refused = await post(path, MESSAGE, unable.value);
    expect([refused.status, refused.body.error.message]).toEqual([403, "API key lacks 'send' permission"]);
  });

  test.each(['manage', 'admin'])('POST /v1/api-keys and rotate can be used with %s', async (permission) => {
    const { value } = await service().makeKey({ permissions: [permission] });
    const fields = { name: 'made', domain_id: service().domainId, permissions: ['send'] };
    const made = await post('/v1/api-keys', fields, value);
    expect(made.status).toBe(201);
    expect((await post(`/v1/api-keys/${made.body.id}/rotate`, {}, value)).status).toBe(200);
  });

  test.each(['send', 'read'])('POST /v1/api-keys and rotate cannot be used with %s', async (permission) => {
    const { id, value } = await service().makeKey({ permissions: [permission] });
    const fields = { name: 'made', domain_id: service().domainId, permissions: ['send'] };
    expect((await post('/v1/api-keys', fields, value)).status).toBe(403);
    expect((await post(`/v1/api-keys/${id}/rotate`, {}, value)).status).toBe(403);
  });
});

describe('§4 POST /v1/messages/send', () => {
  test('1: the same Idempotency-Key returns the original response and creates no duplicate message', async () => {
    const headers = { 'idempotency-key': 'order-1' };
    const message = { ...MESSAGE, tags: [{ name: 'test', value: 'section-4-1' }] };
    const answers = [await send(message, headers), await send(message, headers), await send(message, headers)];
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(answers.map(({ headers: given }) => given.get('idempotent-replayed'))).toEqual([null, 'true', 'true']);
    const list = await service().ask({ path: '/v1/messages?tag=test:section-4-1' });
    expect(list.body.data).toHaveLength(1);
  });

  test('1: another Idempotency-Key is another logical request', async () => {
    const [one, other] = [
      await send(MESSAGE, { 'idempotency-key': 'a' }),
      await send(MESSAGE, { 'idempotency-key': 'b' }),
    ];
    expect(one.body.id).not.toBe(other.body.id);
  });

  test('1: the header is optional', async () => {
    const [one, other] = [await send(MESSAGE), await send(MESSAGE)];
    expect([one.status, other.status]).toEqual([202, 202]);
    expect(one.body.id).not.toBe(other.body.id);
  });

  test.each(['a@other.test', 'a@sub.example.test', 'a@example.test.other.test', 'Shop <a@xexample.test>'])(
    '2: sending from %s, outside the key’s domain, fails',
    async (from) => {
      const answer = await send({ ...MESSAGE, from });
      expect([answer.status, answer.body.error.code]).toEqual([403, 'from_domain_mismatch']);
    },
  );

  test('3: missing or malformed fields yield 400 with details keyed by field name', async () => {
    const answer = await send({ from: 'nobody', subject: '', html: '<p>Thank you.</b></p>' });
    expect(answer.status).toBe(400);
    expect(Object.keys(answer.body.error.details).sort()).toEqual(['from', 'html', 'subject', 'to']);
    expect(answer.body.error.details.to).toEqual(['to is required']);
    expect(answer.body.error.details.html[0]).toMatch(/^html must be valid HTML: line 1, column 14/);
  });

  test('4: to accepts one recipient or several', async () => {
    const one = await send({ ...MESSAGE, to: 'a@example.net' });
    const several = await send({ ...MESSAGE, to: ['a@example.net', 'B <b@example.net>'] });
    expect(one.body.recipients).toHaveLength(1);
    expect(several.body.recipients.map(({ address }: { address: string }) => address)).toEqual([
      'a@example.net',
      'b@example.net',
    ]);
  });

  test('6: success is 202 with the message’s id, status and recipients', async () => {
    const sent = await send(MESSAGE);
    expect(sent.status).toBe(202);
    expect(sent.body).toMatchObject({
      id: expect.stringMatching(/^msg_/),
      object: 'message',
      status: 'accepted',
      environment: 'live',
      recipients: [{ id: expect.stringMatching(/^rcp_/), address: 'customer@example.net', status: 'accepted' }],
    });
  });
});

describe('§4 /v1/messages/analyze', () => {
  test('checks content before sending', async () => {
    const clean = await post('/v1/messages/analyze', MESSAGE);
    const broken = await post('/v1/messages/analyze', { ...MESSAGE, html: '<div><p>Thank you.' });
    expect(clean.body.verdict).not.toBe('fail');
    expect(broken.body).toMatchObject({ verdict: 'fail', findings: expect.any(Array) });
    expect(broken.body.findings).toContainEqual(
      expect.objectContaining({ severity: 'error', field: 'html', line: 1, column: 1 }),
    );
    expect(broken.body.score).toBeLessThan(clean.body.score);
  });
});

describe('§4 POST /v1/api-keys', () => {
  test('1: creates a key bound to domain_id with the listed permissions', async () => {
    const fields = { name: 'bound', domain_id: service().domainId, permissions: ['send'] };
    const made = await post('/v1/api-keys', fields);
    expect(made.body).toMatchObject(fields);
    expect((await send(MESSAGE, {}, made.body.key)).status).toBe(202);
    expect((await send({ ...MESSAGE, from: 'a@other.test' }, {}, made.body.key)).status).toBe(403);
    expect((await service().ask({ path: '/v1/messages', key: made.body.key })).status).toBe(403);
  });

  test('1: a domain of another organization is refused', async () => {
    const fields = { name: 'stolen', domain_id: service().otherDomainId, permissions: ['send'] };
    expect((await post('/v1/api-keys', fields)).status).toBe(403);
  });

  test('2: the full key value is returned only at creation and cannot be retrieved later', async () => {
    const { id, value } = await service().makeKey();
    const places = [
      `/v1/api-keys/${id}`,
      '/v1/api-keys?limit=100',
      `/v1/api-keys/${id}/history`,
      '/v1/events?limit=100',
    ];
    for (const path of places) expect(JSON.stringify((await service().ask({ path })).body)).not.toContain(value);
  });

  test('3: success is 201 with the key in the response, which must not be cached', async () => {
    const made = await post('/v1/api-keys', { name: 'x', domain_id: service().domainId, permissions: ['read'] });
    expect(made.status).toBe(201);
    expect(made.headers.get('location')).toBe(`/v1/api-keys/${made.body.id}`);
    expect(made.headers.get('cache-control')).toBe('no-store');
  });
});

describe('§4 POST /v1/api-keys/{key_id}/rotate', () => {
  test('1: during grace_period_minutes both the old and the new key are accepted', async () => {
    const { id, value } = await service().makeKey();
    const before = Date.now();
    const rotated = await post(`/v1/api-keys/${id}/rotate`, { grace_period_minutes: 60 });
    const endsIn = Date.parse(rotated.body.previous_key_expires_at) - before;
    expect(endsIn / 60_000).toBeGreaterThan(59);
    expect(endsIn / 60_000).toBeLessThan(61);
    for (const key of [value, rotated.body.key]) expect((await send(MESSAGE, {}, key)).status).toBe(202);
  });

  test('1: without a grace period the old key stops working at once', async () => {
    const { id, value } = await service().makeKey();
    const { body } = await post(`/v1/api-keys/${id}/rotate`, { grace_period_minutes: 0 });
    expect([(await send(MESSAGE, {}, value)).status, (await send(MESSAGE, {}, body.key)).status]).toEqual([401, 202]);
  });

  test('2: the grace period defaults to 1440 minutes', async () => {
    const { id } = await service().makeKey();
    const before = Date.now();
    const { body } = await post(`/v1/api-keys/${id}/rotate`, {});
    expect(Math.round((Date.parse(body.previous_key_expires_at) - before) / 60_000)).toBe(1440);
    expect(body).toMatchObject({ id, key: expect.stringMatching(/^ob_live_/) });
  });

  test.each([-1, 10_081, 1.5, '60'])('grace_period_minutes %j is refused', async (minutes) => {
    const { id } = await service().makeKey();
    const answer = await post(`/v1/api-keys/${id}/rotate`, { grace_period_minutes: minutes });
    expect(answer.status).toBe(400);
    expect(Object.keys(answer.body.error.details)).toEqual(['grace_period_minutes']);
  });
});

describe('§4 Other operations', () => {
  test('messages, events and statistics can be read', async () => {
    const sent = await send({ ...MESSAGE, subject: 'To be read' });
    const message = await eventually(
      () => service().ask({ path: `/v1/messages/${sent.body.id}` }),
      ({ body }) => body.status === 'delivered',
    );
    expect(message.body.subject).toBe('To be read');
    const events = await service().ask({ path: `/v1/messages/${sent.body.id}/events` });
    expect(events.body.data.map(({ type }: { type: string }) => type)).toEqual([
      ...['message.delivered', 'message.sending', 'message.accepted'],
    ]);
    expect((await service().ask({ path: '/v1/stats' })).body.totals.accepted).toBeGreaterThan(0);
  });

  test('domains and webhooks can be managed', async () => {
    const domain = await post('/v1/domains', { name: 'managed.test' });
    expect(domain.status).toBe(201);
    expect((await service().ask({ method: 'DELETE', path: `/v1/domains/${domain.body.id}` })).status).toBe(204);
    const hook = await post('/v1/webhooks', { url: 'http://127.0.0.1:9/', events: ['message.*'] });
    expect(hook.status).toBe(201);
    expect((await service().ask({ method: 'DELETE', path: `/v1/webhooks/${hook.body.id}` })).status).toBe(204);
  });

  test('billing can be read', async () => {
    expect((await service().ask({ path: '/v1/billing/usage' })).body.billable_recipients).toBeGreaterThan(0);
  });
});
