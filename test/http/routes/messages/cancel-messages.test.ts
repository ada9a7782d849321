import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';

let service: DatabaseService;
let place: readonly [organizationId: string, domainId: string];
const keys: Record<string, string> = {};

beforeAll(async () => {
  service = await startDatabaseService();
  const own = await service.makeOrganization();
  const domain = await service.makeDomain(own, 'example.test');
  place = [own, domain];
  const second = await service.makeDomain(own, 'second.test');
  const foreign = await service.makeOrganization();
  const make = async (name: string, ...args: Parameters<DatabaseService['makeKey']>): Promise<void> => {
    keys[name] = (await service.makeKey(...args)).value;
  };
  await make('admin', own, domain, { permissions: ['admin'] });
  await make('sender', own, domain, { permissions: ['send'] });
  await make('reader', own, domain, { permissions: ['read'] });
  await make('elsewhere', own, second, { permissions: ['send', 'read'] });
  await make('test', own, domain, { environment: 'test' });
  await make('foreign', foreign, await service.makeDomain(foreign, 'foreign.test'), { permissions: ['admin'] });
});
afterAll(() => service.close());

const post = async (url: string, payload: object, by = 'admin') => {
  const answer = await service.request({ method: 'POST', url, key: keys[by] ?? '', payload });
  return { status: answer.statusCode, body: answer.json() };
};
const cancel = (payload: object, by?: string) => post('/v1/messages/cancel', payload, by);
const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

/** Sends a scheduled message. */
const send = async (more: object = {}): Promise<string> => {
  const mail = { from: 'a@example.test', to: 'b@example.org', subject: 'x', text: 'x', scheduled_at: inAnHour() };
  return (await post('/v1/messages/send', { ...mail, ...more })).body.id;
};
const statusOf = async (id: string): Promise<string> =>
  (await service.request({ url: `/v1/messages/${id}`, key: keys.admin ?? '' })).json().status;

describe('POST /v1/messages/cancel', () => {
  test('cancels what matches and waits, once it has been counted, and nothing when repeated', async () => {
    const [one, other] = [await send({ to: 'a@bulk.example' }), await send({ to: 'b@bulk.example' })];
    const elsewhere = await send({ to: 'c@other.example' });
    const filter = { recipient_domain: 'BULK.example.' };
    const dry = await cancel({ filter, dry_run: true });
    expect(dry).toMatchObject({ status: 200, body: { dry_run: true, matched: 2, cancelled: 0, has_more: false } });
    expect(await statusOf(one)).toBe('scheduled');
    const { body } = await cancel({ filter });
    expect(body).toMatchObject({ object: 'cancellation', dry_run: false, matched: 2, cancelled: 2 });
    expect(body.data.map(({ id }: { id: string }) => id).toSorted()).toEqual([one, other].toSorted());
    expect([await statusOf(one), await statusOf(other), await statusOf(elsewhere)]).toEqual([
      'cancelled',
      'cancelled',
      'scheduled',
    ]);
    expect((await cancel({ filter })).body).toMatchObject({ matched: 0, cancelled: 0, data: [] });
  });

  test('cancels each named message on its own: one that cannot be cancelled stops no other', async () => {
    const id = await send();
    const unknown = `msg_${'a'.repeat(26)}`;
    const { body } = await cancel({ ids: [id, unknown, 'x', id] });
    const error = { code: 'not_found', message: 'message not found' };
    expect(body).toMatchObject({ matched: 3, cancelled: 1 });
    expect(body.data).toEqual([
      { id, cancelled: true, error: null },
      { id: unknown, cancelled: false, error },
      { id: 'x', cancelled: false, error },
    ]);
    expect((await cancel({ ids: [id] })).body).toMatchObject({ cancelled: 1 });
  });

  test('changes nothing that its key may not', async () => {
    const id = await send({ to: 'd@mine.example' });
    for (const by of ['foreign', 'elsewhere', 'test']) {
      expect((await cancel({ ids: [id] }, by)).body).toMatchObject({ cancelled: 0 });
      expect((await cancel({ filter: { recipient_domain: 'mine.example' } }, by)).body).toMatchObject({ matched: 0 });
    }
    expect((await cancel({ ids: [id] }, 'reader')).status).toBe(403);
    expect(await statusOf(id)).toBe('scheduled');
    expect((await cancel({ ids: [id] }, 'sender')).body).toMatchObject({ cancelled: 1 });
  });

  test.each([true, false])('finds nothing for a key that may not read, with dry_run %j', async (dry_run) => {
    const id = await send({ to: 'f@guessed.example', subject: 'Guessed' });
    for (const filter of [{ to: 'f@guessed.example' }, { subject: 'Guessed' }, { to: 'g@guessed.example' }]) {
      const { status, body } = await cancel({ filter, dry_run }, 'sender');
      expect([status, body]).toEqual([
        403,
        {
          error: {
            code: 'permission_missing',
            message: "API key lacks 'read' permission, which a filter requires: name the messages in ids instead",
          },
        },
      ]);
    }
    expect(await statusOf(id)).toBe('scheduled');
  });

  test('costs one of the limit for every 25 messages, and accepts no more than the limit allows', async () => {
    const { value: key } = await service.makeKey(...place, { permissions: ['send', 'read'], rateLimits: { send: 4 } });
    const ask = async (payload: object) => {
      const answer = await service.request({ method: 'POST', url: '/v1/messages/cancel', key, payload });
      return { left: answer.headers['ratelimit-remaining'], status: answer.statusCode, body: answer.json() };
    };
    const ids = Array.from({ length: 101 }, (_, index) => `none${index}`);
    expect(await ask({ ids })).toMatchObject({
      status: 422,
      left: '3',
      body: { error: { code: 'batch_exceeds_limit' } },
    });
    // A repeated id counts once.
    expect(await ask({ ids: ids.map(() => 'none') })).toMatchObject({ status: 200, left: '2', body: { matched: 1 } });
    expect(await ask({ ids: ids.slice(0, 100), dry_run: true })).toMatchObject({ status: 429, left: '1' });
    const filter = { recipient_domain: 'nowhere.example' };
    expect(await ask({ filter })).toMatchObject({ status: 200, left: '0', body: { has_more: false } });
    expect(await ask({ filter })).toMatchObject({ status: 429 });
  });

  test('stops when its key is revoked during the request', async () => {
    const { id: keyId, value: key } = await service.makeKey(...place, { permissions: ['send'] });
    const ids = await Promise.all(Array.from({ length: 12 }, () => send()));
    const { store } = service.deps.context;
    const { append } = store;
    const revoke = async (): Promise<void> => {
      await post(`/v1/api-keys/${keyId}/revoke`, {});
      const ask = async () => (await service.request({ url: '/v1/session', key })).statusCode;
      await expect.poll(ask, { timeout: 10_000 }).toBe(401);
      await sleep(100); // a request may continue this long without re-authentication
    };
    let revoked: Promise<void> | null = null;
    const held = vi.spyOn(store, 'append').mockImplementation(async (asked) => {
      const appended = await append(asked);
      if (!asked.stream.startsWith('message-')) return appended;
      revoked ??= revoke();
      await revoked;
      return appended;
    });
    const answer = await service.request({ method: 'POST', url: '/v1/messages/cancel', key, payload: { ids } });
    held.mockRestore();
    expect([answer.statusCode, answer.json().error.code]).toEqual([401, 'unauthorized']);
    const statuses = await Promise.all(ids.map(statusOf));
    // Four cancellations are in flight at once.
    expect(statuses.filter((status) => status === 'scheduled').length).toBeGreaterThanOrEqual(8);
  });

  test('cancels each message once for two concurrent requests', async () => {
    const id = await send({ to: 'e@race.example' });
    const filter = { recipient_domain: 'race.example' };
    await Promise.all([cancel({ filter }), cancel({ filter }), cancel({ ids: [id] })]);
    const { body } = {
      body: (await service.request({ url: `/v1/messages/${id}/events`, key: keys.admin ?? '' })).json(),
    };
    expect(body.data.filter(({ type }: { type: string }) => type === 'message.cancelled')).toHaveLength(1);
  });

  test.each([
    [{}, 'ids'],
    [{ filter: {} }, 'filter'],
    [{ ids: ['x'], filter: { to: 'a@example.org' } }, 'ids'],
    [{ ids: 'x' }, 'ids'],
    [{ ids: Array.from({ length: 501 }, () => 'x') }, 'ids'],
    [{ filter: { status: 'delivered' } }, 'filter'],
    [{ filter: { to: 'a\r\nb@example.org' } }, 'filter'],
    [{ filter: { smtp_code: '999' } }, 'filter'],
    [{ filter: { recipient_domain: 'a b' } }, 'filter'],
    [{ filter: { nothing: 1 } }, 'filter'],
    [{ ids: ['x'], dry_run: 'yes' }, 'dry_run'],
    ...['key_id', 'request_id', 'domain_id', 'template_id', 'message_id', 'recipient_domain'].map(
      (name): [object, string] => [{ filter: { [name]: 'a\0b' } }, 'filter'],
    ),
    [{ filter: { key_id: 'k'.repeat(65) } }, 'filter'],
  ])('refuses %j', async (payload, field) => {
    const { status, body } = await cancel(payload);
    expect([status, body.error.code, Object.keys(body.error.details)]).toEqual([400, 'invalid_request', [field]]);
  });

  test('treats a body that is no object, or too large, as any other route does', async () => {
    for (const payload of [[], [1]]) expect((await cancel(payload)).status).toBe(400);
  });
});

describe('GET /v1/messages', () => {
  test('finds by the domain of a recipient, and refuses an invalid one', async () => {
    const id = await send({ to: ['x@found.example', 'y@bulk.example'] });
    const ask = async (query: string) =>
      (await service.request({ url: `/v1/messages?${query}`, key: keys.admin ?? '' })).json();
    for (const query of ['recipient_domain=Found.Example', 'recipient_domain=found.example&to=y@bulk.example'])
      expect((await ask(query)).data.map((one: { id: string }) => one.id)).toEqual([id]);
    for (const query of ['recipient_domain=example', 'smtp_code=550', 'smtp_code=451%204.7.1'])
      expect((await ask(query)).data).toEqual([]);
    for (const query of ['recipient_domain=a@b', 'recipient_domain=', 'smtp_code=', 'smtp_code=1', 'smtp_code=451%20'])
      expect((await ask(query)).error.code).toBe('invalid_request');
  });
});
