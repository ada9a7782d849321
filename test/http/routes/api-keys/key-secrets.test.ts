import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';
import { type KeyTenant, openKeyTenant } from '../../support/key-tenant.ts';
import { operator } from '../../support/service.ts';

let service: DatabaseService;
let tenant: KeyTenant;

beforeAll(async () => {
  service = await startDatabaseService();
  tenant = await openKeyTenant(service);
});
afterAll(() => service.close());

const rotate = async (id: string, payload: object = {}, by = tenant.admin.value): Promise<string> => {
  const { status, body } = await tenant.ask('POST', `/${id}/rotate`, { payload, by });
  expect(status).toBe(200);
  return body.key;
};

const send = async (value: string, to: readonly string[] = ['a@example.org']): Promise<string> => {
  const { domain } = (await service.request({ url: '/v1/domains', key: tenant.admin.value }))
    .json()
    .data.map(({ name }: { name: string }) => ({ domain: name }))[0];
  const answer = await service.request({
    method: 'POST',
    url: '/v1/messages/send',
    key: value,
    payload: { from: `shop@${domain}`, to, subject: 's', text: 't' },
  });
  expect(answer.statusCode).toBe(202);
  return answer.json().id;
};

const secretsOf = async (id: string, by?: string) => {
  const { status, body } = await tenant.ask('GET', `/${id}/secrets`, by === undefined ? {} : { by });
  expect(status).toBe(200);
  return body.data;
};

const sentWith = async (id: string, secret: string): Promise<{ status: number; ids: readonly string[] }> => {
  const url = `/v1/messages?${new URLSearchParams({ key_id: id, secret })}`;
  const answer = await service.request({ url, key: tenant.admin.value });
  return { status: answer.statusCode, ids: (answer.json().data ?? []).map((message: { id: string }) => message.id) };
};

describe('GET /v1/api-keys/{id}/secrets', () => {
  test('lists every value that the key had, who made it, when it ends and what was sent with it', async () => {
    const made = await tenant.make();
    const first = [await send(made.value), await send(made.value, ['a@example.org', 'b@example.org'])];
    const second = await rotate(made.id, { grace_period_minutes: 60 });
    const [inGrace, withSecond] = [await send(made.value), await send(second)];
    const third = await rotate(made.id, { revoke_previous: true });
    const secrets = await secretsOf(made.id);
    expect(secrets).toMatchObject([
      { number: 3, last4: third.slice(-4), status: 'current', ends_at: null, end_reason: null, sends: 0 },
      { number: 2, last4: second.slice(-4), status: 'ended', end_reason: 'rotated', sends: 1, recipients: 1 },
      { number: 1, last4: made.value.slice(-4), status: 'ended', end_reason: 'rotated', sends: 3, recipients: 4 },
    ]);
    expect(secrets[0]).toMatchObject({
      object: 'api_key_secret',
      created_by: {
        ...{ type: 'key', id: tenant.admin.id, secret: 1, session_id: null },
        secret_last4: tenant.admin.value.slice(-4),
      },
      address: '127.0.0.1',
      request_id: expect.stringMatching(/^req_/),
      first_send_at: null,
      last_send_at: null,
    });
    expect(secrets[1].ends_at).toBe(secrets[0].created_at);
    expect(secrets[2]).toMatchObject({ created_by: { type: 'operator', secret: null }, address: null });
    expect(secrets[2].first_send_at < secrets[2].last_send_at).toBe(true);

    expect(await sentWith(made.id, '1')).toEqual({ status: 200, ids: [inGrace, ...first.toReversed()] });
    expect(await sentWith(made.id, '2')).toEqual({ status: 200, ids: [withSecond] });
    expect(await sentWith(made.id, '3')).toEqual({ status: 200, ids: [] });
    expect(await sentWith(made.id, '999999999')).toEqual({ status: 200, ids: [] });
  });

  test('shows a value in its grace period, and those of a deleted key as ended with it', async () => {
    const { id } = await tenant.make();
    await rotate(id, { grace_period_minutes: 60 });
    expect(await secretsOf(id)).toMatchObject([{ status: 'current' }, { status: 'grace', end_reason: 'rotated' }]);
    await tenant.ask('DELETE', `/${id}`);
    const ended = { status: 'ended', end_reason: 'key_deleted' };
    expect(await secretsOf(id)).toMatchObject([ended, ended]);
  });

  test('names the value with which a key rotated itself, also after it has ended', async () => {
    const own = await tenant.make({ permissions: ['manage'] });
    const second = await rotate(own.id, {}, own.value);
    await rotate(own.id, { revoke_previous: true }, second);
    expect(await secretsOf(own.id)).toMatchObject([
      { created_by: { id: own.id, secret: 2, secret_last4: second.slice(-4) } },
      { created_by: { id: own.id, secret: 1, secret_last4: own.value.slice(-4) } },
      { created_by: { type: 'operator' } },
    ]);
  });

  test('shows addresses only to live keys with admin', async () => {
    const { id } = await tenant.make({ environment: 'test', permissions: ['manage'] });
    await rotate(id);
    const tester = await tenant.make({ environment: 'test', permissions: ['admin'] });
    expect((await secretsOf(id))[0].address).toBe('127.0.0.1');
    expect((await secretsOf(id, tenant.manager.value))[0].address).toBeNull();
    const [seen] = await secretsOf(id, tester.value);
    expect(seen).toMatchObject({ address: null, created_by: { id: tenant.admin.id, secret_last4: null } });
  });

  test('never contains a value or its hash', async () => {
    const { id, value } = await tenant.make();
    const rotated = await rotate(id);
    const text = JSON.stringify(await secretsOf(id));
    expect(text).not.toMatch(/[0-9a-f]{64}/);
    for (const secret of [value, rotated]) expect(text).not.toContain(secret.slice(8, 30));
  });

  test('pages through a key that was rotated 1,000 times', async () => {
    const { id } = await tenant.make();
    const { store, system } = service.deps.context;
    const now = system.now().toISOString();
    await store.append({
      stream: `apiKey-${id}`,
      expected: 0,
      events: Array.from({ length: 1000 }, (_, index) => ({
        id: randomUUID(),
        type: 'KeyRotated' as const,
        data: {
          keyId: id,
          secret: { hash: index.toString(16).padStart(64, '0'), first4: 'aaaa', last4: String(index).padStart(4, '0') },
          previousExpiresAt: now,
          revokesPrevious: true,
        },
      })),
      context: { ...operator(tenant.organizationId), $correlationId: 'c', $causationId: 'c', occurredAt: now },
    });
    const numbers: number[] = [];
    let path = `/${id}/secrets?limit=100`;
    for (let pages = 1; pages <= 11; pages += 1) {
      const { status, body } = await tenant.ask('GET', path);
      expect(status).toBe(200);
      numbers.push(...body.data.map(({ number }: { number: number }) => number));
      expect(body.has_more).toBe(pages < 11);
      path = `/${id}/secrets?limit=100&after=${body.next_cursor}`;
    }
    expect(numbers).toEqual(Array.from({ length: 1001 }, (_, index) => 1001 - index));
  });

  test('refuses ids and cursors that are not of this key', async () => {
    const stranger = await openKeyTenant(service);
    const { id } = await tenant.make();
    await rotate(id);
    const cursor = (await tenant.ask('GET', `/${id}/secrets?limit=1`)).body.next_cursor;
    expect(await stranger.ask('GET', `/${id}/secrets`)).toMatchObject({ status: 403, code: 'other_organization' });
    expect(await tenant.ask('GET', `/${tenant.admin.id}/secrets?after=${cursor}`)).toMatchObject({
      status: 400,
      code: 'invalid_cursor',
    });
    for (const wrong of ['key_1', `key_${'a'.repeat(26)}`, '1%3B', '%00', `dom_${'a'.repeat(26)}`])
      expect((await tenant.ask('GET', `/${wrong}/secrets`)).status).toBe(404);
    const tester = await tenant.make({ environment: 'test', permissions: ['admin'] });
    expect((await tenant.ask('GET', `/${id}/secrets`, { by: tester.value })).status).toBe(404);
    const sender = await tenant.make({ permissions: ['send', 'read'] });
    expect((await tenant.ask('GET', `/${id}/secrets`, { by: sender.value })).code).toBe('permission_missing');
  });
});

describe('GET /v1/messages by secret', () => {
  test.each(['0', '-1', '1e9', '1000000000', '1;', '', '1.5', '0x1', '\0', '1\r\n', '٣', `1${'0'.repeat(5000)}`])(
    'refuses %j',
    async (secret) => {
      expect((await sentWith(tenant.admin.id, secret)).status).toBe(400);
    },
  );

  test('says that it needs the key', async () => {
    const answer = await service.request({ url: '/v1/messages?secret=1', key: tenant.admin.value });
    expect([answer.statusCode, answer.json().error.details]).toEqual([400, { secret: ['secret requires key_id'] }]);
  });

  test('shows nothing of another organization', async () => {
    const stranger = await openKeyTenant(service);
    const made = await tenant.make();
    const id = await send(made.value);
    expect((await sentWith(made.id, '1')).ids).toEqual([id]);
    const answer = await service.request({
      url: `/v1/messages?key_id=${made.id}&secret=1`,
      key: stranger.admin.value,
    });
    expect([answer.statusCode, answer.json().data]).toEqual([200, []]);
  });
});
