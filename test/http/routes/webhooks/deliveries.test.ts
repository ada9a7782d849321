import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CustomerEvent } from '../../../../src/domain/customer-events/customer-events.ts';
import { deliveryId, type WebhookDeliveries } from '../../../../src/domain/ports/webhooks.ts';
import { type Service, startService } from '../../support/service.ts';

let service: Service;
let deliveries: WebhookDeliveries;
let key: string;

beforeAll(async () => {
  service = await startService();
  deliveries = service.deps.webhookDeliveries as WebhookDeliveries; // the in-memory implementation is complete
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'), {})).value;
});
afterAll(() => service.close());

const ask = async (method: 'GET' | 'POST' | 'PATCH', url: string, payload?: object) => {
  const answer = await service.request({ method, url, key, ...(payload === undefined ? {} : { payload }) });
  return { status: answer.statusCode, body: answer.json() };
};

const register = async (): Promise<string> =>
  (await ask('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/', events: ['message.*'] })).body.id;

const eventOf = (number: number, type: CustomerEvent['type']): CustomerEvent => ({
  ...{ id: `evt_${number}`, type, timestamp: '2026-11-21T12:00:00.000Z', organizationId: 'org_1', environment: 'live' },
  ...{ subjectId: 'msg_1', sequence: number, recipientId: null, contentId: null, facts: {} },
});

const owe = async (webhookId: string, types: readonly CustomerEvent['type'][]): Promise<readonly string[]> => {
  const { position = null, logId = 'log' } = (await deliveries.checkpoint()) ?? {};
  const owed = types.map((type, index) => {
    const event = eventOf(index + 1, type);
    return { id: deliveryId(webhookId, event.id), webhookId, event };
  });
  const to = String(Number(position ?? 0) + 1);
  expect(await deliveries.record({ logId, from: position, to, owed, now: new Date() })).toBe(true);
  return owed.map(({ id }) => id);
};

const fail = (id: string): Promise<void> =>
  deliveries.finish([
    {
      ...{ deliveryId: id, attempt: 1, at: new Date(1_000), status: 500, durationMs: 12, text: 'sorry' },
      ...{ state: 'failed', dueAt: new Date() },
      request: { url: 'https://example.com/h', headerNames: ['authorization'], bodyBytes: 7, bodySha256: 'ab' },
    },
  ]);

describe('a delivery', () => {
  test('names the recipient of its event, also in the list, if the event has one', async () => {
    const webhookId = await register();
    const mail = { from: 'a@example.test', to: ['ann@example.net'], cc: ['bob@example.net'], subject: 'x', text: 'x' };
    const sent = (await ask('POST', '/v1/messages/send', mail)).body;
    const stream = await service.deps.context.store.readStream(`message-${sent.id}`, { from: 0 });
    const contentId = stream
      .map(({ data }) => (data as { contentId?: string }).contentId)
      .find((id) => id !== undefined);
    const about = sent.recipients.map(({ id }: { id: string }, index: number) => ({
      ...eventOf(index + 1, 'message.accepted'),
      ...{ subjectId: sent.id, recipientId: id, contentId },
    }));
    const events: readonly CustomerEvent[] = [...about, eventOf(3, 'domain.verified')];
    const { position = null, logId = 'log' } = (await deliveries.checkpoint()) ?? {};
    const owed = events.map((event) => ({ id: deliveryId(webhookId, event.id), webhookId, event }));
    const to = String(Number(position ?? 0) + 1);
    expect(await deliveries.record({ logId, from: position, to, owed, now: new Date() })).toBe(true);
    const { data } = (await ask('GET', `/v1/webhooks/${webhookId}/deliveries`)).body;
    const [ann, bob] = sent.recipients;
    const recipients = new Map(
      data.map((one: { event_id: string; recipient: object }) => [one.event_id, one.recipient]),
    );
    expect(recipients.get('evt_1')).toEqual({ id: ann.id, address: 'ann@example.net', kind: 'to' });
    expect(recipients.get('evt_2')).toEqual({ id: bob.id, address: 'bob@example.net', kind: 'cc' });
    expect(recipients.get('evt_3')).toBeNull();
    const resent = await ask('POST', `/v1/webhooks/${webhookId}/deliveries/${owed[1]?.id}/resend`);
    expect(resent.body.recipient).toEqual({ id: bob.id, address: 'bob@example.net', kind: 'cc' });
  });

  test('shows what was posted and how it was answered, without secrets', async () => {
    const webhookId = await register();
    const [id = ''] = await owe(webhookId, ['message.accepted']);
    await fail(id);
    const { body } = await ask('GET', `/v1/webhooks/${webhookId}/deliveries/${id}`);
    expect(body).toMatchObject({ id, event_id: 'evt_1', event_type: 'message.accepted', status: 'failed' });
    expect(body.attempts).toEqual([
      {
        at: '1970-01-01T00:00:01.000Z',
        request: {
          url: 'https://example.com/h',
          headers: {
            authorization: '[hidden]',
            'content-type': 'application/json',
            'user-agent': 'Outbox-Webhooks/1.0',
            'webhook-id': 'evt_1',
            'webhook-timestamp': '1',
          },
          body_bytes: 7,
          body_sha256: 'ab',
        },
        status: 500,
        duration_ms: 12,
        response: 'sorry',
      },
    ]);
    const { body: posted, ...listed } = body;
    expect(JSON.parse(posted)).toMatchObject({ id: 'evt_1', type: 'message.accepted', data: { message_id: 'msg_1' } });
    expect((await ask('GET', `/v1/webhooks/${webhookId}/deliveries`)).body.data).toEqual([listed]);
  });

  test('that fails makes its webhook a failing one, from when it was enabled at the earliest', async () => {
    const webhookId = await register();
    const shown = async () => (await ask('GET', `/v1/webhooks/${webhookId}`)).body;
    const { failing_since: before, created_at: enabledAt } = await shown();
    expect(before).toBeNull();
    const [id = ''] = await owe(webhookId, ['message.accepted']);
    await fail(id); // the failure is dated 1970
    expect((await shown()).failing_since).toBe(enabledAt);
    const disabled = await ask('PATCH', `/v1/webhooks/${webhookId}`, { enabled: false });
    expect(disabled.body.failing_since).toBeNull();
  });

  test('that waits says since when, however many wait behind it and although none has failed', async () => {
    const webhookId = await register();
    const shown = async () => (await ask('GET', `/v1/webhooks/${webhookId}`)).body;
    expect((await shown()).waiting_since).toBeNull();
    const ids = await owe(webhookId, Array<CustomerEvent['type']>(150).fill('message.accepted'));
    const list = (await ask('GET', `/v1/webhooks/${webhookId}/deliveries?status=pending&limit=100`)).body;
    expect(list.has_more).toBe(true);
    const oldest = (await ask('GET', `/v1/webhooks/${webhookId}/deliveries/${ids[0]}`)).body.created_at;
    expect(await shown()).toMatchObject({ waiting_since: oldest, failing_since: null });
    for (const id of ids) await fail(id);
    expect((await shown()).waiting_since).toBeNull();
  });

  test('is found by its status and the type of its event', async () => {
    const webhookId = await register();
    const [first = '', second = ''] = await owe(webhookId, ['message.accepted', 'message.delivered']);
    await fail(first);
    const idsOf = async (query: string): Promise<readonly string[]> =>
      (await ask('GET', `/v1/webhooks/${webhookId}/deliveries${query}`)).body.data.map((one: { id: string }) => one.id);
    expect(await idsOf('?status=failed')).toEqual([first]);
    expect(await idsOf('?status=failing')).toEqual([first]);
    expect(await idsOf('?event_type=message.delivered')).toEqual([second]);
    expect(await idsOf('?status=failed&event_type=message.delivered')).toEqual([]);
    expect((await ask('GET', `/v1/webhooks/${webhookId}/deliveries?status=lost`)).status).toBe(400);
  });

  test('that has failed is due again when it is sent again, unless its webhook is disabled', async () => {
    const webhookId = await register();
    const [id = ''] = await owe(webhookId, ['message.accepted']);
    await fail(id);
    const resend = () => ask('POST', `/v1/webhooks/${webhookId}/deliveries/${id}/resend`);
    expect(await resend()).toMatchObject({ status: 202, body: { status: 'pending' } });
    const recorded = async () =>
      (await service.deps.context.store.readStream(`webhook-${webhookId}`, { from: 0 })).at(-1);
    const last = await recorded();
    expect(last).toMatchObject({ type: 'WebhookDeliveryResent', data: { webhookId, deliveryId: id } });
    expect(last?.metadata.actor).toMatch(/^key:key_/);
    expect((await ask('GET', `/v1/webhooks/${webhookId}/deliveries/${id}`)).body).toMatchObject({
      status: 'pending',
      next_attempt_at: expect.any(String),
      attempts: [{ status: 500 }],
    });
    await ask('PATCH', `/v1/webhooks/${webhookId}`, { enabled: false });
    expect((await resend()).body.error.code).toBe('webhook_disabled');
  });

  test('of another organization is neither shown nor sent again', async () => {
    const webhookId = await register();
    const [id = ''] = await owe(webhookId, ['message.accepted']);
    await fail(id);
    const foreign = await service.makeOrganization();
    const { value } = await service.makeKey(foreign, await service.makeDomain(foreign, 'foreign.test'), {});
    const url = `/v1/webhooks/${webhookId}/deliveries/${id}`;
    for (const [method, path] of [
      ['GET', url],
      ['POST', `${url}/resend`],
    ] as const) {
      const answer = await service.request({ method, url: path, key: value });
      expect([answer.statusCode, answer.json().error.code]).toEqual([403, 'other_organization']);
    }
    expect((await ask('GET', url)).body.status).toBe('failed');
  });

  test('of another webhook, or of an unknown one, is not found', async () => {
    const [webhookId, other] = [await register(), await register()];
    const [id = ''] = await owe(other, ['message.accepted']);
    for (const wanted of [id, 'dlv_aaaaaaaaaaaaaaaaaaaaaaaaaa', 'nothing']) {
      expect((await ask('GET', `/v1/webhooks/${webhookId}/deliveries/${wanted}`)).status).toBe(404);
      expect((await ask('POST', `/v1/webhooks/${webhookId}/deliveries/${wanted}/resend`)).status).toBe(404);
    }
  });
});
