import type { FastifyRequest } from 'fastify';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { internalOrigin } from '../../../src/commands/execute.ts';
import { noteReading } from '../../../src/commands/reading.ts';
import { createListReadings } from '../../../src/http/readings.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { openAdminTenant } from '../support/admin-tenant.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

let service: DatabaseService;
let organizationId: string;
let key: string;
let other: string;

beforeAll(async () => {
  service = await startDatabaseService();
  ({ organizationId, key } = await openAdminTenant(service, 'audit.example'));
  other = (await openAdminTenant(service, 'stranger.example')).key;
});
afterAll(() => service.close());

const ask = (url: string, by = key) => service.request({ url, key: by });

describe('reading', () => {
  test('is recorded before anything is shown, with what was read and by which key', async () => {
    const mail = { from: 'a@audit.example', to: 'b@example.org', subject: 'Secret', text: 'Hello' };
    const sent = await service.request({ method: 'POST', url: '/v1/messages/send', key, payload: mail });
    const { id } = sent.json();
    expect((await ask(`/v1/messages/${id}/content`)).statusCode).toBe(200);
    await service.request({ url: '/v1/suppressions/export', key });
    expect((await ask(`/v1/messages/${id}/content`, other)).statusCode).toBe(403);
    const entries = (await ask('/v1/audit/log?order=asc&type=DataRead')).json().data;
    expect(entries).toMatchObject([
      { actor: { type: 'key', secret: 1 }, data: { what: 'message_content', subjectId: id, percent: 100 } },
      { actor: { type: 'key' }, data: { what: 'suppressions', subjectId: null } },
    ]);
    expect(JSON.stringify(entries)).not.toContain('example.org');
  });

  test('shows nothing while it cannot be recorded', async () => {
    const mail = { from: 'a@audit.example', to: 'b@example.org', subject: 'Secret', text: 'Hello' };
    const sent = await service.request({ method: 'POST', url: '/v1/messages/send', key, payload: mail });
    const { id } = sent.json();
    await service.request({ method: 'POST', url: '/v1/audit/checkpoints', key, payload: {} });
    const [accepted] = (await ask(`/v1/audit/log?type=MessageAccepted&message_id=${id}`)).json().data;
    const append = vi
      .spyOn(service.deps.context.store, 'append')
      .mockRejectedValue(new StoreUnavailable('the log is away'));
    try {
      for (const url of [
        `/v1/messages/${id}/content`,
        `/v1/messages/${id}/raw`,
        `/v1/messages/${id}/preview`,
        `/v1/audit/disclosures/${accepted.event_id}`,
        `/v1/audit/reports/messages/${id}`,
        '/v1/suppressions/export',
        '/v1/audit/export',
      ]) {
        const answer = await ask(url);
        expect([url, answer.statusCode, answer.json().error.code]).toEqual([url, 503, 'unavailable']);
        expect(answer.body).not.toContain('Secret');
      }
    } finally {
      append.mockRestore();
    }
  });

  test('of lists, searches and pages that show addresses is recorded once a minute for each key and route', async () => {
    const tenant = await openAdminTenant(service, 'listed.example');
    const by = (url: string) => ask(url, tenant.key);
    const readings = async () =>
      (await by('/v1/audit/log?order=asc&type=DataRead')).json().data.map(({ data }: { data: object }) => data);
    expect((await by('/v1/messages')).json().data).toEqual([]);
    expect(await readings()).toEqual([]); // showed no address
    const mail = { from: 'a@listed.example', to: 'b@example.org', subject: 'Hello', text: 'Hello' };
    const sent = await service.request({ method: 'POST', url: '/v1/messages/send', key: tenant.key, payload: mail });
    const { id } = sent.json();
    const now = vi.spyOn(service.deps.context.system, 'now').mockReturnValue(new Date());
    try {
      for (const url of [
        '/v1/messages',
        `/v1/messages/${id}`,
        `/v1/messages/${id}/explain`,
        '/v1/search?q=b@example.org',
      ])
        for (const status of [200, 200]) expect([url, (await by(url)).statusCode]).toEqual([url, status]);
      await by('/v1/domains');
      const minute = ['/v1/messages', '/v1/messages/:id', '/v1/messages/:id/explain', '/v1/search'];
      expect(await readings()).toEqual(
        minute.map((url) => expect.objectContaining({ what: 'addresses', subjectId: `GET ${url}` })),
      );
      now.mockReturnValue(new Date(Date.now() + 60_000));
      await by('/v1/messages?limit=1');
      await by('/v1/messages?limit=2');
      expect(await readings()).toHaveLength(minute.length + 1);
    } finally {
      now.mockRestore();
    }
    const [entry] = (await by('/v1/audit/log?type=DataRead')).json().data;
    expect(entry.address).toBe('127.0.0.1');
    const proof = await by(`/v1/audit/log?type=DataRead&address=127.0.0.1`);
    expect(proof.json().data.length).toBeGreaterThan(0);
  });

  test('of a list by two processes at once is recorded once', async () => {
    const { context } = service.deps;
    const deps = { context, requestOrigins: service.deps.requestOrigins };
    const processes = [createListReadings(deps), createListReadings(deps)];
    const origin = { ...internalOrigin({ actor: 'key:key_two', organizationId, causeId: 'x' }), requestId: 'req_1' };
    const request = { ip: '192.0.2.7', headers: {} } as FastifyRequest;
    const body = { data: [{ to: 'b@example.org' }] };
    await Promise.all(processes.map((each) => each.record({ origin, request }, 'GET /v1/messages', body)));
    const entries = (await ask('/v1/audit/log?actor=key:key_two')).json().data;
    expect(entries).toMatchObject([{ type: 'DataRead', address: '192.0.2.7', data: { what: 'addresses' } }]);
  });

  test('names no client in the log itself', async () => {
    const { events } = await service.deps.context.store.readAll({ limit: 1000, direction: 'backwards' });
    const readings = events.filter(({ type }) => type === 'DataRead');
    expect(readings.length).toBeGreaterThan(5);
    for (const { metadata } of readings.slice(0, -1)) expect(metadata.originId).toBeDefined();
    expect(JSON.stringify(readings)).not.toContain('127.0.0.1');
  });

  test.each([
    [0, 0, 0],
    [10, 10, 50],
    [100, 200, 200],
  ])('is recorded in %i of 100 cases', async (readingsPercent, atLeast, atMost) => {
    const { store, system } = service.deps.context;
    const append = vi.fn<typeof store.append>(async () => ({ revision: 0, position: '' }));
    const context = { store: { ...store, append }, system, readingsPercent };
    const origin = internalOrigin({ actor: 'operator', organizationId, causeId: 'x' });
    for (let n = 0; n < 200; n += 1)
      await noteReading(context, async () => origin, { what: 'suppressions', subjectId: null });
    expect(append.mock.calls.length).toBeGreaterThanOrEqual(Math.min(atLeast, 5));
    expect(append.mock.calls.length).toBeLessThanOrEqual(atMost);
  });
});
