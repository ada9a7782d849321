import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import { originPart, type RequestOrigin } from '../../src/domain/ports/requests.ts';
import { rootOfPart } from '../../src/lib/transparency/transparency.ts';
import { createInMemoryRequestOrigins } from '../support/in-memory/request-origins.ts';
import { type KeyTenant, openKeyTenant } from './support/key-tenant.ts';
import { type Service, startService } from './support/service.ts';

const kept: RequestOrigin[] = [];
let service: Service;
let tenant: KeyTenant;

beforeAll(async () => {
  const requestOrigins = createInMemoryRequestOrigins(kept);
  service = await startService({ requestOrigins, trustedProxies: ['127.0.0.1'] });
});
beforeEach(async () => {
  tenant = await openKeyTenant(service);
  kept.length = 0;
});
afterAll(() => service.close());

/** The newest event in the log. */
const lastEvent = async (): Promise<RecordedEvent> => {
  const { events } = await service.deps.context.store.readAll({ direction: 'backwards', limit: 1 });
  return events[0] as RecordedEvent;
};

const send = async (key: string, more: object = {}, headers: Record<string, string> = {}) => {
  const { name } = (await service.request({ url: `/v1/domains/${tenant.domainId}`, key: tenant.admin.value })).json();
  const payload = { from: `a@${name}`, to: 'b@example.org', subject: 'x', text: 'Hi', ...more };
  const answer = await service.request({ method: 'POST', url: '/v1/messages/send', key, payload, headers });
  expect(answer.statusCode).toBe(202);
  return lastEvent();
};

describe('every event of a request', () => {
  test('names the number of the secret that was shown', async () => {
    const { id, value } = await tenant.make({ permissions: ['send'] });
    expect((await send(value)).metadata).toMatchObject({ actor: `key:${id}`, secret: 1 });
    const second = (await tenant.ask('POST', `/${id}/rotate`, { payload: {} })).body.key;
    const third = (await tenant.ask('POST', `/${id}/rotate`, { payload: {} })).body.key;
    expect((await send(value)).metadata.secret).toBe(1);
    expect((await send(second)).metadata.secret).toBe(2);
    expect((await send(third)).metadata.secret).toBe(3);
  });

  test.each([
    ['127.0.0.1', 'loopback'],
    ['::1', 'loopback'],
    ['10.1.2.3', 'private'],
    ['100.64.0.1', 'private'],
    ['fd00::7', 'private'],
    ['203.0.113.9', 'public'],
    ['8.8.8.8', 'public'],
    ['::ffff:8.8.8.8', 'public'],
    ['2a00:1450::1', 'public'],
  ])('records that %s is a %s address, and nothing more of it', async (address, sourceClass) => {
    const event = await send(tenant.admin.value, {}, { 'x-forwarded-for': address });
    expect(event.metadata.sourceClass).toBe(sourceClass);
    expect(JSON.stringify(event.metadata)).not.toContain(address);
    expect(event.metadata).not.toHaveProperty('originId');
  });

  test('that manages something names its origin, which is stored before', async () => {
    const headers = { 'user-agent': `curl/8 ${'x'.repeat(1_000)}`, 'x-forwarded-for': '203.0.113.9' };
    const { id } = await tenant.make();
    expect((await tenant.ask('PATCH', `/${id}`, { payload: { name: 'x' }, headers })).status).toBe(200);
    const { metadata } = await lastEvent();
    expect(metadata).toMatchObject({ sourceClass: 'public', originId: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    expect(kept).toEqual([
      {
        id: metadata.originId,
        organizationId: tenant.organizationId,
        address: '203.0.113.9',
        userAgent: headers['user-agent'].slice(0, 512),
        at: expect.any(Date),
        salt: expect.stringMatching(/^[\w-]{22}$/),
      },
    ]);
    expect(metadata.originRoot).toBe(rootOfPart(originPart(kept[0] as RequestOrigin)));
  });

  test('that records a refusal names its origin too', async () => {
    const { id } = await tenant.make({ permissions: ['admin'] });
    const refused = await tenant.ask('POST', `/${id}/revoke`, { by: tenant.manager.value });
    expect(refused.status).toBe(403);
    const { type, metadata } = await lastEvent();
    expect([type, metadata.originId]).toEqual(['KeyChangeRefused', kept[0]?.id]);
  });

  test('that only reads, or sends, leaves no origin', async () => {
    await tenant.ask('GET', '');
    await service.request({ url: '/v1/organization', key: tenant.admin.value });
    await send(tenant.admin.value);
    expect(kept).toEqual([]);
  });
});

describe('the digest of a request body', () => {
  const digestOf = (event: RecordedEvent): string => (event.type === 'MessageAccepted' ? event.data.bodyDigest : '');

  test('is recorded with and without an Idempotency-Key, the same for the same body', async () => {
    const { value } = tenant.admin;
    const plain = await send(value);
    const keyed = await send(value, {}, { 'idempotency-key': 'one' });
    const other = await send(value, { subject: 'y' });
    expect(digestOf(plain)).toMatch(/^[0-9a-f]{32}$/);
    expect(digestOf(keyed)).toBe(digestOf(plain));
    expect(digestOf(other)).not.toBe(digestOf(plain));
    expect([plain, keyed].map(({ data }) => 'idempotent' in data && data.idempotent)).toEqual([false, true]);
  });

  test('distinguishes long contents', async () => {
    const attached = (last: string) => ({
      attachments: [{ filename: 'a.bin', content: Buffer.from('a'.repeat(400_000) + last).toString('base64') }],
    });
    const [one, same, other] = [
      await send(tenant.admin.value, attached('1')),
      await send(tenant.admin.value, attached('1')),
      await send(tenant.admin.value, attached('2')),
    ];
    expect(digestOf(same)).toBe(digestOf(one));
    expect(digestOf(other)).not.toBe(digestOf(one));
  });

  test('is recorded for each message of a batch', async () => {
    const { name } = (await service.request({ url: `/v1/domains/${tenant.domainId}`, key: tenant.admin.value })).json();
    const message = { from: `a@${name}`, to: 'b@example.org', subject: 'x', text: 'Hi' };
    const payload = { messages: [message, message, { ...message, subject: 'y' }] };
    const { value: key } = tenant.admin;
    expect((await service.request({ method: 'POST', url: '/v1/messages/batch', key, payload })).statusCode).toBe(202);
    const { events } = await service.deps.context.store.readAll({ direction: 'backwards', limit: 3 });
    const digests = events.map(digestOf);
    expect(new Set(digests).size).toBe(2);
    for (const digest of digests) expect(digest).toMatch(/^[0-9a-f]{32}$/);
  });
});
