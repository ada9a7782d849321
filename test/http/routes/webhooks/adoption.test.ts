import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { internalOrigin } from '../../../../src/commands/execute.ts';
import { pauseWebhook } from '../../../../src/commands/webhook.ts';
import type { CustomerEvent } from '../../../../src/domain/customer-events/customer-events.ts';
import { deliveryId } from '../../../../src/domain/ports/webhooks.ts';
import { type Service, startService } from '../../support/service.ts';

let service: Service;
let organizationId: string;
const keys: Record<string, { readonly id: string; readonly value: string }> = {};

beforeAll(async () => {
  service = await startService();
  organizationId = await service.makeOrganization();
  const foreign = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  const make = service.makeKey;
  keys.lasting = await make(organizationId, domainId, { permissions: ['manage', 'read', 'send'] });
  keys.expiring = await make(organizationId, domainId, {
    ...{ permissions: ['manage', 'read', 'send'], expiresAt: '2099-01-01T00:00:00.000Z' },
  });
  keys.local = await make(organizationId, domainId, { permissions: ['manage', 'read'], allowedCidrs: ['127.0.0.0/8'] });
  keys.blind = await make(organizationId, domainId, { permissions: ['manage', 'send'] });
  keys.foreign = await make(foreign, await service.makeDomain(foreign, 'foreign.test'));
});
afterAll(() => service.close());

const ask = async (by: string, method: 'GET' | 'POST' | 'PATCH', url: string, payload?: object) => {
  const key = keys[by]?.value ?? '';
  const answer = await service.request({ method, url, key, ...(payload === undefined ? {} : { payload }) });
  return { status: answer.statusCode, body: answer.json(), text: answer.body };
};

const HOOK = { url: 'http://127.0.0.1:9/', events: ['message.*'] };
const register = async (by: string, more = {}) => ask(by, 'POST', '/v1/webhooks', { ...HOOK, ...more });

/** Pauses webhooks as the workers do once the key has ended. */
const pause = (webhookId: string, by: string) =>
  pauseWebhook(
    service.deps.context,
    internalOrigin({ actor: 'worker:test', organizationId, environment: 'live', causeId: 'test' }),
    { webhookId, environment: 'live', keyId: keys[by]?.id ?? '' },
  );

describe('a paused webhook', () => {
  test('says which key was responsible for it, and cannot be enabled, disabled, pinged or replayed', async () => {
    const { id } = (await register('expiring')).body;
    await pause(id, 'expiring');
    const url = `/v1/webhooks/${id}`;
    expect((await ask('lasting', 'GET', url)).body).toMatchObject({
      ...{ status: 'paused', disabled_reason: null, owned_by: { type: 'key', id: keys.expiring?.id } },
    });
    const refused = [
      await ask('lasting', 'PATCH', url, { enabled: true }),
      await ask('lasting', 'PATCH', url, { enabled: false }),
      await ask('lasting', 'POST', `${url}/ping`),
      await ask('lasting', 'POST', `${url}/replay`, { after: 'start' }),
    ];
    for (const { status, body } of refused) expect([status, body.error.code]).toEqual([409, 'webhook_disabled']);
  });

  test('is adopted only by a key without bounds, of its organization', async () => {
    const { id } = (await register('expiring')).body;
    await pause(id, 'expiring');
    const url = `/v1/webhooks/${id}/adopt`;
    for (const by of ['expiring', 'local']) {
      const { status, body } = await ask(by, 'POST', url);
      expect([status, body.error.code]).toEqual([403, 'wider_than_own_key']);
    }
    expect((await ask('foreign', 'POST', url)).body.error.code).toBe('other_organization');
    expect((await ask('lasting', 'POST', '/v1/webhooks/whk_x/adopt')).status).toBe(404);
    expect((await ask('lasting', 'POST', url)).body).toMatchObject({
      ...{ status: 'enabled', owned_by: { type: 'key', id: keys.lasting?.id } },
    });
    expect((await ask('lasting', 'POST', url)).status).toBe(200);
  });
});

describe('the key that is responsible for a webhook', () => {
  test('is the one that last changed its URL or headers, or enabled it', async () => {
    const { id, owned_by: first } = (await register('lasting')).body;
    expect(first).toEqual({ type: 'key', id: keys.lasting?.id });
    const change = async (by: string, changes: object) =>
      (await ask(by, 'PATCH', `/v1/webhooks/${id}`, changes)).body.owned_by.id;
    expect(await change('expiring', { description: 'Ours' })).toBe(keys.lasting?.id);
    expect(await change('expiring', { url: 'http://127.0.0.1:9/theirs' })).toBe(keys.expiring?.id);
    expect(await change('lasting', { headers: { 'x-team': 'a' } })).toBe(keys.lasting?.id);
    expect(await change('lasting', { enabled: false })).toBe(keys.lasting?.id);
    expect(await change('local', { enabled: true })).toBe(keys.local?.id);
  });
});

describe('a key without `read`', () => {
  test('cannot filter by tags, which would reveal who has them', async () => {
    const { status, body } = await register('blind', { filters: { tags: ['customer:42'] } });
    expect([status, body.error.code]).toEqual([403, 'permission_missing']);
  });

  test('sees no addresses, tags or metadata in the deliveries of any webhook', async () => {
    const sent = await ask('lasting', 'POST', '/v1/messages/send', {
      ...{ from: 'shop@example.test', to: 'ann@example.org', subject: 'Hello', text: 'Hello' },
      ...{ tags: [{ name: 'customer', value: '42-42' }], metadata: { order: '43-43' } },
    });
    const { events } = await service.deps.context.store.readAll({ filter: { categories: ['message'] }, limit: 10 });
    const contentId = events.flatMap((event) => (event.type === 'MessageAccepted' ? [event.data.contentId] : []))[0];
    const event: CustomerEvent = {
      ...{ id: 'evt_1', type: 'message.accepted', timestamp: '2026-01-01T00:00:00.000Z', organizationId },
      ...{ environment: 'live', subjectId: sent.body.id, sequence: 1, recipientId: sent.body.recipients[0].id },
      ...{ contentId: contentId ?? null, facts: {} },
    };
    const deliveryOf = async (webhookId: string): Promise<string> => {
      const id = deliveryId(webhookId, event.id);
      const deliveries = service.deps.webhookDeliveries as unknown as {
        checkpoint(): Promise<{ position: string } | null>;
        record(recording: object): Promise<boolean>;
      };
      const from = (await deliveries.checkpoint())?.position ?? null;
      await deliveries.record({ logId: 'log', from, to: id, owed: [{ id, webhookId, event }], now: new Date() });
      return `/v1/webhooks/${webhookId}/deliveries/${id}`;
    };
    const full = await deliveryOf((await register('lasting')).body.id);
    const blind = await deliveryOf((await register('blind')).body.id);
    const list = full.slice(0, full.lastIndexOf('/'));
    const SECRET = /ann@example\.org|42-42|43-43/;
    expect((await ask('lasting', 'GET', full)).text).toMatch(SECRET);
    for (const url of [full, blind, list]) expect((await ask('blind', 'GET', url)).text).not.toMatch(SECRET);
    expect((await ask('lasting', 'GET', blind)).body.body).not.toMatch(SECRET); // the body is the posted payload
  });
});
