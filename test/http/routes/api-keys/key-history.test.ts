import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { customerEvents } from '../../../../src/domain/customer-events/customer-events.ts';
import { type KeyTenant, openKeyTenant } from '../../support/key-tenant.ts';
import { type Service, startService } from '../../support/service.ts';

let service: Service;
let tenant: KeyTenant;

beforeAll(async () => {
  service = await startService();
  tenant = await openKeyTenant(service);
});
afterAll(() => service.close());

interface Entry {
  readonly id: string;
  readonly type: string;
  readonly details: object;
}

const ask = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, payload?: object, by?: string) => {
  const more = { ...(payload === undefined ? {} : { payload }), ...(by === undefined ? {} : { by }) };
  const answer = await tenant.ask(method, path, more);
  return { ...answer, requestId: answer.headers['x-request-id'] };
};
const historyOf = async (id: string, query = ''): Promise<readonly Entry[]> => {
  const { status, body } = await ask('GET', `/${id}/history${query}`);
  expect(status).toBe(200);
  return body.data;
};
const typesOf = async (id: string) => (await historyOf(id)).map(({ type }) => type);
const make = async (payload: object = {}) =>
  (await ask('POST', '', { name: 'n', domain_id: tenant.domainId, permissions: ['send'], ...payload })).body;

describe('the history of an API key', () => {
  test('lists who did what in which request, with old and new values, newest first', async () => {
    const made = await make();
    const renamed = await ask('PATCH', `/${made.id}`, {
      name: 'm',
      rate_limits: { send: 5 },
      expires_at: '2099-01-01',
    });
    const rotated = await ask('POST', `/${made.id}/rotate`, { grace_period_minutes: 60, revoke_previous: false });
    const revoked = await ask('POST', `/${made.id}/revoke`, {}, tenant.manager.value);
    const [last, ...others] = await historyOf(made.id);
    expect(last).toEqual({
      object: 'api_key_history_entry',
      type: 'api_key.revoked',
      details: {},
      id: expect.stringMatching(/^evt_[a-z2-7]{26}$/),
      at: expect.stringMatching(/Z$/),
      actor: {
        type: 'key',
        id: tenant.manager.id,
        secret: 1,
        secret_last4: tenant.manager.value.slice(-4),
        session_id: null,
      },
      address: '127.0.0.1',
      request_id: revoked.requestId,
      leaf_index: expect.any(Number),
    });
    expect(others).toMatchObject([
      {
        type: 'api_key.rotated',
        actor: { type: 'key', id: tenant.admin.id },
        request_id: rotated.requestId,
        details: {
          last4: rotated.body.key.slice(-4),
          previous_last4: made.key.slice(-4),
          revoke_previous: false,
          previous_key_expires_at: rotated.body.previous_key_expires_at,
        },
      },
      {
        type: 'api_key.updated',
        request_id: renamed.requestId,
        details: {
          name: { from: 'n', to: 'm' },
          rate_limits: { from: { send: 100, read: 1000, manage: 100 }, to: { send: 5, read: 1000, manage: 100 } },
          expires_at: { from: null, to: '2099-01-01T00:00:00.000Z' },
        },
      },
      {
        type: 'api_key.created',
        details: {
          name: 'n',
          domain_id: tenant.domainId,
          permissions: ['send'],
          environment: 'live',
          expires_at: null,
        },
      },
    ]);
    expect(Object.keys(others[1]?.details ?? {}).sort()).toEqual(['expires_at', 'name', 'rate_limits']);
  });

  test('names the operator if the operator did it', async () => {
    const [entry] = await historyOf(tenant.admin.id);
    expect(entry).toMatchObject({
      actor: { type: 'operator', id: null, secret: null, secret_last4: null, session_id: null },
      address: null,
      request_id: null,
    });
  });

  test('never contains a value or its hash', async () => {
    const made = await make();
    const { body: rotated } = await ask('POST', `/${made.id}/rotate`);
    const text = JSON.stringify(await historyOf(made.id));
    const log = JSON.stringify(await service.deps.context.store.readStream(`apiKey-${made.id}`));
    for (const hash of log.match(/[0-9a-f]{64}/g) ?? []) expect(text).not.toContain(hash);
    for (const value of [made.key, rotated.key]) {
      expect(text).not.toContain(value.slice(8, 30));
      expect(log).not.toContain(value.slice(8, 30));
    }
  });

  test('has its entries under the ids of the events that customers see', async () => {
    const made = await make();
    const [event] = await service.deps.context.store.readStream(`apiKey-${made.id}`);
    expect((await historyOf(made.id))[0]?.id).toBe(event === undefined ? '' : customerEvents(event)[0]?.id);
  });

  test('shows the deletion of the domain that ended the key; other keys of the organization keep working', async () => {
    const gone = await service.makeDomain(tenant.organizationId, 'gone.test');
    const bound = await make({ domain_id: gone });
    await ask('DELETE', `/${(await make({ domain_id: gone })).id}`);
    await service.request({ method: 'DELETE', url: `/v1/domains/${gone}`, key: tenant.admin.value });
    const [entry] = await historyOf(bound.id);
    expect(entry).toMatchObject({
      type: 'domain.deleted',
      details: { domain_id: gone },
      actor: { id: tenant.admin.id },
    });
    expect((await ask('GET', `/${bound.id}`)).body.status).toBe('revoked');
    for (const [method, path, payload] of [
      ['PATCH', '', { name: 'x' }],
      ['POST', '/rotate', {}],
      ['POST', '/revoke', {}],
    ] as const) {
      expect((await ask(method, `/${bound.id}${path}`, payload)).code).toBe('key_not_active');
    }
    expect((await ask('POST', '', { name: 'n', domain_id: gone, permissions: ['send'] })).code).toBe('not_found');
    expect((await ask('DELETE', `/${bound.id}`)).status).toBe(204);
    expect((await typesOf(bound.id)).filter((type) => !type.endsWith('refused'))).toEqual([
      'api_key.deleted',
      'domain.deleted',
      'api_key.created',
    ]);
  });

  test('pages by cursor without skipping or repeating while other changes are refused', async () => {
    const { id } = await make();
    for (let time = 0; time < 3; time += 1) {
      await ask('PATCH', `/${id}`, { name: `name ${time}` });
      await ask('PATCH', `/${id}`, { permissions: ['admin'] }, tenant.manager.value);
    }
    await ask('POST', `/${id}/revoke`);
    await ask('POST', `/${id}/rotate`);
    const all = (await historyOf(id)).map(({ id: entry }) => entry);
    expect(await typesOf(id)).toEqual([
      'api_key.change_refused',
      'api_key.revoked',
      'api_key.updated',
      'api_key.updated',
      'api_key.change_refused',
      'api_key.updated',
      'api_key.created',
    ]);
    const seen: string[] = [];
    let query = '?limit=2';
    for (let page = 0; page < 4; page += 1) {
      const { body } = await ask('GET', `/${id}/history${query}`);
      seen.push(...body.data.map((entry: Entry) => entry.id));
      expect([body.has_more, body.next_cursor !== null]).toEqual([page < 3, page < 3]);
      query = `?limit=2&after=${body.next_cursor}`;
      if (page === 0) await ask('POST', `/${id}/revoke`); // rejected, and newer than the reader's cursor
    }
    expect(seen).toEqual(all);
  });

  test('refuses cursors that are not its own', async () => {
    const { id } = await make();
    const cursorOf = (...parts: string[]) => Buffer.from(parts.join('\n')).toString('base64url');
    for (const cursor of [
      'x',
      cursorOf(`key-history:${tenant.admin.id}`, '1', '0'),
      cursorOf(`key-history:${id}`, '-1', '0'),
      cursorOf(`key-history:${id}`, '1', '9999999999'),
      cursorOf(`key-history:${id}`, '1'),
    ]) {
      expect((await ask('GET', `/${id}/history?after=${cursor}`)).code).toBe('invalid_cursor');
    }
    const beyond = cursorOf(`key-history:${id}`, '999999999', '999999999');
    expect(await historyOf(id, `?after=${beyond}`)).toHaveLength(1);
  });

  test('of a live key is hidden from test keys', async () => {
    const tester = await service.makeKey(tenant.organizationId, tenant.domainId, {
      environment: 'test',
      permissions: ['manage'],
    });
    const { id } = await make();
    expect((await ask('GET', `/${id}/history`, undefined, tester.value)).status).toBe(404);
    expect((await ask('GET', `/${tester.id}/history`, undefined, tester.value)).status).toBe(200);
  });
});
