import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { conforming, MESSAGE } from './service.ts';

const { service } = conforming();
const send = (more: object = {}, key?: string, headers: Record<string, string> = {}) =>
  service().ask({
    method: 'POST',
    path: '/v1/messages/send',
    body: { ...MESSAGE, ...more },
    headers,
    ...(key === undefined ? {} : { key }),
  });

describe('§1 What the service does', () => {
  test('1: it accepts requests to send messages on behalf of a sending domain', async () => {
    const sent = await send();
    expect(sent.status).toBe(202);
    const found = await eventually(
      () => service().ask({ path: `/v1/messages/${sent.body.id}` }),
      ({ body }) => body.status === 'delivered',
    );
    expect(found.body).toMatchObject({ domain_id: service().domainId, from: 'shop@example.test' });
  });

  test('2: it analyses message content before sending, without sending', async () => {
    const before = (await service().ask({ path: '/v1/messages?limit=1' })).body.data[0]?.id;
    const answer = await service().ask({ method: 'POST', path: '/v1/messages/analyze', body: MESSAGE });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ object: 'analysis', score: expect.any(Number), findings: expect.any(Array) });
    expect((await service().ask({ path: '/v1/messages?limit=1' })).body.data[0]?.id).toBe(before);
  });

  test.each(['messages', 'events', 'stats', 'domains', 'webhooks', 'suppressions', 'api-keys', 'billing'])(
    '3: it has the resource %s',
    async (resource) => {
      expect((await service().ask({ path: `/v1/${resource}` })).status).toBe(200);
    },
  );

  test('4: every request is authenticated by an API key', async () => {
    const answer = await service().raw('/v1/messages');
    expect(answer.status).toBe(401);
  });

  test('4: rate limits apply per key: exhausting one leaves another unchanged', async () => {
    const used = await service().makeKey({ permissions: ['read'], rate_limits: { read: 1 } });
    const other = await service().makeKey({ permissions: ['read'], rate_limits: { read: 1 } });
    const read = (key: string) => service().ask({ path: '/v1/messages', key });
    expect([(await read(used.value)).status, (await read(used.value)).status]).toEqual([200, 429]);
    expect((await read(other.value)).status).toBe(200);
  });

  test('5: sending can be retried idempotently through a request header', async () => {
    const headers = { 'idempotency-key': 'section-1' };
    const first = await send({}, undefined, headers);
    const second = await send({}, undefined, headers);
    expect(second.status).toBe(first.status);
    expect(second.body).toEqual(first.body);
  });

  test('6: keys have one of two environments, distinguished by prefix; sandbox keys simulate sending', async () => {
    const { program } = service();
    expect([program.keys.live, program.keys.test].map((key) => key.slice(0, 8))).toEqual(['ob_live_', 'ob_test_']);
    const inbox = async () => (await service().ask({ path: '/v1/inbox?limit=100' })).body.data;
    const simulated = await send({ subject: 'Simulated' }, program.keys.test);
    await eventually(
      () => service().ask({ path: `/v1/messages/${simulated.body.id}`, key: program.keys.test }),
      ({ body }) => body.status === 'delivered',
    );
    expect((await inbox()).filter(({ subject }: { subject: string }) => subject === 'Simulated')).toEqual([]);
  });
});

describe('§2 Resources and their fields', () => {
  test('API key: name, domain_id, permissions, an identifier key_<id> and the full value, shown once', async () => {
    const fields = { name: 'A human label', domain_id: service().domainId, permissions: ['send', 'read'] };
    const made = await service().ask({ method: 'POST', path: '/v1/api-keys', body: fields });
    expect(made.body).toMatchObject({ ...fields, id: expect.stringMatching(/^key_/) });
    expect(made.body.key).toMatch(/^ob_live_[0-9A-Za-z]+$/);
    const read = await service().ask({ path: `/v1/api-keys/${made.body.id}` });
    expect(read.body).toMatchObject(fields);
    expect(JSON.stringify(read.body)).not.toContain(made.body.key);
  });

  test.each(['send', 'read', 'manage', 'admin'])('API key: %s is a permission', async (permission) => {
    const { value } = await service().makeKey({ permissions: [permission] });
    expect(value).toMatch(/^ob_live_/);
  });

  test('API key: nothing else is a permission', async () => {
    const body = { name: 'x', domain_id: service().domainId, permissions: ['write'] };
    const answer = await service().ask({ method: 'POST', path: '/v1/api-keys', body });
    expect(answer.status).toBe(400);
    expect(Object.keys(answer.body.error.details)).toEqual(['permissions']);
  });

  test('API key: a sandbox key has the form ob_test_<secret>', async () => {
    expect((await service().makeKey({ environment: 'test' })).value).toMatch(/^ob_test_[0-9A-Za-z]+$/);
  });

  test.each([
    ['from', { from: undefined }, 'from is required'],
    ['to', { to: undefined }, 'to is required'],
    ['subject', { subject: undefined }, 'subject is required'],
    ['html', { html: undefined }, 'html or text is required'],
    ['html', { html: '<div>' }, 'html must be valid HTML: line 1, column 1: element <div> is not closed'],
  ])('Send request: %s is checked (%j)', async (field, change, sentence) => {
    const answer = await send(change);
    expect(answer.status).toBe(400);
    expect(answer.body.error.details).toEqual({ [field]: [sentence] });
  });

  test('Send request: the domain of from must match the domain bound to the key', async () => {
    expect((await send({ from: 'a@other.test' })).status).toBe(403);
  });

  test('Error object: message is always present', async () => {
    const refused = await Promise.all([
      service().ask({ path: '/v1/messages', key: 'no key' }),
      service().ask({ path: '/v1/messages/nothing' }),
      service().ask({ path: '/v1/messages?limit=0' }),
      send({ subject: undefined }),
    ]);
    for (const { body } of refused) expect(body.error.message).toEqual(expect.stringMatching(/./));
  });

  test('Error object: code and retry_after (seconds, an integer) on rate-limit errors', async () => {
    const { value } = await service().makeKey({ permissions: ['read'], rate_limits: { read: 1 } });
    await service().ask({ path: '/v1/messages', key: value });
    const { body } = await service().ask({ path: '/v1/messages', key: value });
    expect(body.error).toMatchObject({ code: 'rate_limit_exceeded', retry_after: expect.any(Number) });
    expect(Number.isInteger(body.error.retry_after)).toBe(true);
  });

  test('Error object: details map a field name to an array of strings on validation errors', async () => {
    const { body } = await send({ to: ['nobody', 'a@b.test'], subject: 7 });
    expect(body.error.details).toEqual({
      to: [expect.stringMatching(/^to\[0\] is not an email address/)],
      subject: ['subject must be a string'],
    });
  });
});

describe('§3 States and transitions', () => {
  const sendsWith = async (key: string): Promise<number> => (await send({}, key)).status;

  test('a key rotated with a grace period and its replacement are both accepted until the period ends', async () => {
    const { id, value } = await service().makeKey();
    const rotate = (body: object) => service().ask({ method: 'POST', path: `/v1/api-keys/${id}/rotate`, body });
    const next = (await rotate({ grace_period_minutes: 5 })).body;
    expect([await sendsWith(value), await sendsWith(next.key)]).toEqual([202, 202]);
    const { key: last } = (await rotate({ grace_period_minutes: 0, revoke_previous: true })).body;
    expect([await sendsWith(value), await sendsWith(next.key), await sendsWith(last)]).toEqual([401, 401, 202]);
  });

  test('a key that is revoked is no longer accepted', async () => {
    const { id, value } = await service().makeKey();
    expect(await sendsWith(value)).toBe(202);
    await service().ask({ method: 'POST', path: `/v1/api-keys/${id}/revoke` });
    expect(await sendsWith(value)).toBe(401);
  });

  test('a key that is deleted is no longer accepted', async () => {
    const { id, value } = await service().makeKey();
    expect(await sendsWith(value)).toBe(202);
    expect((await service().ask({ method: 'DELETE', path: `/v1/api-keys/${id}` })).status).toBe(204);
    expect(await sendsWith(value)).toBe(401);
  });
});
