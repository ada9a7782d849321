import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { EventStore } from '../../../../src/domain/kernel/event-store.ts';
import { createInMemoryContents } from '../../../support/in-memory/contents.ts';
import { type KeyTenant, openKeyTenant } from '../../support/key-tenant.ts';
import { createMemoryStore, type Service, startService } from '../../support/service.ts';

let service: Service;
let tenant: KeyTenant;
/** Fault with which the log rejects the recording of a refusal, if set. */
let fault: (() => Promise<never>) | null = null;

beforeAll(async () => {
  const contents = createInMemoryContents();
  const store = createMemoryStore(contents);
  const append: EventStore['append'] = (asked) =>
    fault !== null && asked.stream.startsWith('apiKeyRefusal-') ? fault() : store.append(asked);
  service = await startService({ context: { contents, store: { ...store, append } } });
});
beforeEach(async () => {
  tenant = await openKeyTenant(service);
});
afterAll(() => service.close());

interface Entry {
  readonly type: string;
  readonly request_id: string | null;
  readonly details: object;
}

const historyOf = async (id: string): Promise<readonly Entry[]> =>
  (await tenant.ask('GET', `/${id}/history`)).body.data;

describe('a refused change', () => {
  const refusalsOf = async (id: string) =>
    (await historyOf(id)).filter(({ type }) => type === 'api_key.change_refused').map(({ details }) => details);

  test('is in the history if it matters to an audit', async () => {
    const { id } = await tenant.make();
    const rotate = () => tenant.ask('POST', `/${id}/rotate`);
    await rotate();
    await rotate();
    const refused = await rotate();
    expect(refused.status).toBe(409);
    await tenant.ask('PATCH', `/${id}`, { payload: { rate_limits: { send: 1 } }, by: tenant.manager.value });
    await tenant.ask('POST', `/${id}/revoke`);
    await tenant.ask('POST', `/${id}/revoke`);
    expect(await refusalsOf(id)).toEqual([
      { change: 'revoke', code: 'key_not_active' },
      { change: 'update', code: 'permission_missing' },
      { change: 'rotate', code: 'too_many_live_secrets' },
    ]);
    const entries = await historyOf(id);
    expect(entries.find(({ request_id }) => request_id === refused.headers['x-request-id'])).toMatchObject({
      type: 'api_key.change_refused',
      actor: { type: 'key', id: tenant.admin.id },
    });
  });

  test('of an admin key is in the history: who changed it, and that it was the last', async () => {
    const own = await service.makeOrganization();
    const alone = await service.makeKey(own, await service.makeDomain(own, 'alone.test'));
    const remove = await tenant.ask('DELETE', `/${alone.id}`, { by: alone.value });
    expect(remove.code).toBe('last_admin_key');
    const { body } = await tenant.ask('GET', `/${alone.id}/history`, { by: alone.value });
    expect(body.data[0].details).toEqual({ change: 'delete', code: 'last_admin_key' });
    await tenant.ask('POST', `/${tenant.admin.id}/rotate`, { payload: {}, by: tenant.manager.value });
    expect((await refusalsOf(tenant.admin.id))[0]).toEqual({ change: 'rotate', code: 'permission_missing' });
  });

  test('is there once, however often it is requested in a minute', async () => {
    const { id } = await tenant.make();
    await Promise.all(
      Array.from({ length: 10 }, () =>
        tenant.ask('PATCH', `/${id}`, { payload: { permissions: ['admin'] }, by: tenant.manager.value }),
      ),
    );
    expect(await refusalsOf(id)).toEqual([{ change: 'update', code: 'permission_missing' }]);
  });

  test('is not recorded if it is a slip in the request', async () => {
    const { id } = await tenant.make();
    await tenant.ask('PATCH', `/${id}`, { payload: { name: '' } });
    await tenant.ask('PATCH', `/${id}`, { payload: {} });
    await tenant.ask('DELETE', `/${id}`, { headers: { 'if-match': '"9"' } });
    expect(await refusalsOf(id)).toEqual([]);
  });

  test.each<[string, () => Promise<never>]>([
    ['fails', () => Promise.reject(new Error('away'))],
    ['hangs', () => new Promise<never>(() => undefined)],
  ])('is answered all the same when the log %s while recording it', async (_what, failing) => {
    const { id } = await tenant.make();
    await tenant.ask('POST', `/${id}/revoke`);
    fault = failing;
    const { status, code } = await tenant.ask('POST', `/${id}/revoke`);
    fault = null;
    expect([status, code]).toEqual([409, 'key_not_active']);
    expect(await refusalsOf(id)).toEqual([]);
  });
});

describe('repeated permissions', () => {
  test('are kept once, and too many are refused', async () => {
    const { id } = await tenant.make();
    const twice = await tenant.ask('PATCH', `/${id}`, { payload: { permissions: ['send', 'read', 'send'] } });
    expect([twice.status, twice.body.permissions]).toEqual([200, ['send', 'read']]);
    for (const count of [21, 900]) {
      const permissions = Array.from({ length: count }, () => 'send');
      const refused = await tenant.ask('PATCH', `/${id}`, { payload: { permissions } });
      expect([refused.status, refused.body.error.details]).toEqual([
        400,
        { permissions: ['permissions must have at most 20 items'] },
      ]);
    }
  });
});
