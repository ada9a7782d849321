import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from './support/database-service.ts';

let service: DatabaseService;
let organizationId: string;
let domainId: string;
let second: string;
let key: string;
const sent: string[] = [];

const get = async (url: string, by = key) => {
  const answer = await service.request({ url, key: by });
  return { status: answer.statusCode, body: answer.json() };
};

/** Sends each message in its own millisecond: within one, lists are ordered by random ids. */
const send = async (more: object = {}, by = key): Promise<string> => {
  await setTimeout(2);
  const payload = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', text: 'Hello', ...more };
  const answer = await service.request({ method: 'POST', url: '/v1/messages/send', key: by, payload });
  expect(answer.statusCode).toBe(202);
  return answer.json().id;
};

const idsOf = (body: { data: readonly { id: string }[] }): readonly string[] => body.data.map(({ id }) => id);

beforeAll(async () => {
  service = await startDatabaseService();
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  second = await service.makeDomain(organizationId, 'second.test');
  key = (await service.makeKey(organizationId, domainId)).value;
  sent.push(await send({ to: ['Bee <b@example.org>', 'c@example.org'], tags: [{ name: 'kind', value: 'receipt' }] }));
  sent.push(await send({ subject: 'Second', to: 'c@example.org' }));
  sent.push(await send({ subject: 'Third', from: 'other@example.test' }));
});
afterAll(() => service.close());

describe('GET /v1/messages', () => {
  test('shows what was sent a moment ago, newest first', async () => {
    const { status, body } = await get('/v1/messages');
    expect(status).toBe(200);
    expect(body).toMatchObject({ object: 'list', has_more: false, next_cursor: null });
    expect(idsOf(body)).toEqual(sent.toReversed());
    expect(body.data[2]).toMatchObject({
      subject: 'Hello',
      from: 'a@example.test',
      status: 'accepted',
      recipients: [{ address: 'b@example.org', status: 'accepted' }, { address: 'c@example.org' }],
    });
  });

  test('pages by cursor without skipping or repeating', async () => {
    const seen: string[] = [];
    let after = '';
    for (let page = 0; page < 3; page += 1) {
      const { body } = await get(`/v1/messages?limit=1${after}`);
      seen.push(...idsOf(body));
      expect(body.has_more).toBe(page < 2);
      after = `&after=${body.next_cursor}`;
    }
    expect(seen).toEqual(sent.toReversed());
  });

  test.each([
    ['to=C%40example.org', () => [sent[1], sent[0]]],
    ['from=other@example.test', () => [sent[2]]],
    ['tag=kind:receipt', () => [sent[0]]],
    ['tag=kind:other', () => []],
    ['status=delivered', () => []],
    ['status=accepted&limit=1', () => [sent[2]]],
    ['since=2999-01-01', () => []],
    ['until=2999-01-01T00:00:00Z&to=b@example.org', () => [sent[2], sent[0]]],
  ])('filters by %s', async (filter, expected) => {
    const { status, body } = await get(`/v1/messages?${filter}`);
    expect(status).toBe(200);
    expect(idsOf(body)).toEqual(expected());
  });

  test('names every query parameter that is wrong or unknown', async () => {
    const { status, body } = await get('/v1/messages?limit=0&since=yesterday&status=lost&colour=red&to=%40');
    expect(status).toBe(400);
    expect(body.error.details).toEqual({
      limit: ['limit must be an integer between 1 and 100'],
      since: ['since must be a time in ISO 8601 in the years 1970 to 9999, 2026-01-31T12:00:00Z'],
      status: [expect.stringMatching(/^status must be one of accepted, /)],
      to: ['to must be an email address, or a part of one with a letter or a digit'],
      colour: ['colour is not a known query parameter'],
    });
  });

  test('shows keys with only read their own domain', async () => {
    const reader = await service.makeKey(organizationId, second, { permissions: ['read', 'send'] });
    const own = await send({ from: 'x@second.test' }, reader.value);
    expect(idsOf((await get('/v1/messages', reader.value)).body)).toEqual([own]);
    expect(idsOf((await get(`/v1/messages?domain_id=${domainId}`, reader.value)).body)).toEqual([]);
    expect(idsOf((await get(`/v1/messages?domain_id=${second}`)).body)).toEqual([own]);
  });

  test('shows a test key what test keys sent', async () => {
    const simulated = await service.makeKey(organizationId, domainId, { environment: 'test' });
    const own = await send({}, simulated.value);
    expect(idsOf((await get('/v1/messages', simulated.value)).body)).toEqual([own]);
  });
});

describe('other lists', () => {
  test('contain what was made a moment ago, and nothing from other organizations', async () => {
    const post = async (url: string, payload: object) =>
      (await service.request({ method: 'POST', url, key, payload })).json();
    const made = await post('/v1/api-keys', { name: 'n', domain_id: domainId, permissions: ['read'] });
    const { key: _, ...shown } = made;
    expect((await get('/v1/api-keys')).body.data[0]).toEqual(shown);
    const domain = await post('/v1/domains', { name: 'third.test' });
    expect((await get('/v1/domains')).body.data[0]).toEqual(domain);
    const webhook = { url: 'http://127.0.0.1:9/', events: ['message.*'] };
    const { secret: __, verification_key: ___, ...hook } = await post('/v1/webhooks', webhook);
    expect((await get('/v1/webhooks')).body.data).toEqual([hook]);
    expect((await get(`/v1/webhooks/${hook.id}/deliveries`)).body.data).toEqual([]);
    const foreign = await service.makeOrganization();
    const stranger = await service.makeKey(foreign, await service.makeDomain(foreign, 'foreign.test'));
    for (const url of ['/v1/messages', '/v1/webhooks']) expect((await get(url, stranger.value)).body.data).toEqual([]);
    expect(idsOf((await get('/v1/api-keys', stranger.value)).body)).toEqual([stranger.id]);
    expect((await get('/v1/domains', stranger.value)).body.data).toHaveLength(1);
  });

  test.each(['/v1/messages', '/v1/api-keys', '/v1/domains', '/v1/webhooks', '/v1/events'])(
    '%s refuses cursors that are not its own',
    async (url) => {
      const foreign = Buffer.from(`other\n2026-01-01T00:00:00.000Z\nmsg_${'a'.repeat(26)}`).toString('base64url');
      for (const cursor of ['x', '!!', foreign, `${foreign}A`, 'x'.repeat(600)]) {
        const { status, body } = await get(`${url}?after=${cursor}`);
        expect(status).toBe(400);
        expect(body.error.details.after).toHaveLength(1);
      }
    },
  );
});

describe('GET /v1/events', () => {
  test('returns the newest page without a cursor, oldest first, and what follows with one', async () => {
    const { body } = await get('/v1/events?types=message.accepted&limit=2');
    expect(body.data.map(({ type }: { type: string }) => type)).toEqual(['message.accepted', 'message.accepted']);
    const id = await send({ to: ['x@example.org', 'y@example.org'] });
    const next = await get(`/v1/events?types=message.accepted&after=${body.next_cursor}`);
    expect(next.body.data.map((event: { data: object; sequence: number }) => [event.data, event.sequence])).toEqual([
      [
        expect.objectContaining({ message_id: id, recipient: expect.objectContaining({ address: 'x@example.org' }) }),
        1,
      ],
      [
        expect.objectContaining({ message_id: id, recipient: expect.objectContaining({ address: 'y@example.org' }) }),
        2,
      ],
    ]);
    const details = await get('/v1/events?types=message.lost&wait=31');
    expect(Object.keys(details.body.error.details)).toEqual(['types', 'wait']);
  });

  test('waits for the next event, and answers as soon as it happens', async () => {
    const { next_cursor } = (await get('/v1/events')).body;
    const begun = performance.now();
    const waiting = get(`/v1/events?wait=20&after=${next_cursor}`);
    await service.deps.context.system.sleep(300);
    const id = await send();
    expect((await waiting).body.data[0].data.message_id).toBe(id);
    expect(performance.now() - begun).toBeLessThan(10_000);
  });

  test('answers an empty page with the cursor to continue from when nothing happens in time', async () => {
    const { next_cursor } = (await get('/v1/events')).body;
    const { body } = await get(`/v1/events?wait=1&after=${next_cursor}`);
    expect(body).toEqual({ object: 'list', data: [], has_more: false, next_cursor });
  });
});

describe('figures', () => {
  test('/v1/stats counts what was accepted, every bucket of the range there', async () => {
    const from = new Date(service.deps.context.system.now().getTime() - 3_600_000).toISOString();
    const { status, body } = await get(`/v1/stats?granularity=hour&from=${from}&metrics=accepted,delivered`);
    expect(status).toBe(200);
    const listed = (await get('/v1/messages?limit=100')).body.data as { recipients: object[] }[];
    expect(body.totals.accepted).toBe(listed.flatMap(({ recipients }) => recipients).length);
    expect(Object.keys(body.totals)).toEqual(['accepted', 'delivered', 'rates', 'latency_ms']);
    expect(body.data.length).toBeGreaterThanOrEqual(2);
    const grouped = await get('/v1/stats?group_by=domain&timezone=Asia/Kathmandu');
    expect(grouped.body.data.some(({ group }: { group: string }) => group === domainId)).toBe(true);
  });

  test.each([
    ['timezone=Mars/Base', 'timezone'],
    ['from=2026-02-01&to=2026-01-01', 'from'],
    ['from=2000-01-01&to=2026-01-01&granularity=hour', 'granularity'],
    ['metrics=happiness', 'metrics'],
    ['template_version=1', 'template_version'],
    ['group_by=template_version', 'group_by'],
    ['bounce_class=soft', 'bounce_class'],
    ['attribution=delivery', 'attribution'],
  ])('/v1/stats refuses %s', async (asked, field) => {
    const { status, body } = await get(`/v1/stats?${asked}`);
    expect([status, Object.keys(body.error.details)]).toEqual([400, [field]]);
  });

  test('/v1/billing counts live recipients, test ones not', async () => {
    const { body } = await get('/v1/billing');
    const live = (await get('/v1/messages?limit=100')).body.data as { recipients: object[] }[];
    const recipients = live.flatMap((message) => message.recipients).length;
    expect(body).toMatchObject({
      plan: { id: 'unlimited', price: 0 },
      usage: { billable_recipients: recipients },
      quota: null,
    });
    const month = body.period.start.slice(0, 7);
    const usage = await get(`/v1/billing/usage?period=${month}`);
    expect(usage.body).toMatchObject({ object: 'usage', period: body.period, billable_recipients: recipients });
    expect((await get('/v1/billing/usage?period=2026-13')).body.error.details).toHaveProperty('period');
  });
});

test('marks of use are flushed to the vault and read back', async () => {
  const { id, value } = await service.makeKey(organizationId, domainId);
  expect((await get(`/v1/api-keys/${id}`)).body.last_used_at).toBeNull();
  await get('/v1/organization', value);
  await service.deps.usageMarks.flush();
  const stored = await service.deps.usageMarks.of([id]);
  expect(stored).toMatchObject([{ keyId: id, lastAddress: '127.0.0.1' }]);
  expect((await get(`/v1/api-keys/${id}`)).body.last_used_at).toBe(stored[0]?.lastUsedAt.toISOString());
});

test('after the database broke every connection, requests are 503 at worst and recover on their own', async () => {
  await service.breakConnections();
  const statuses = new Set<number>();
  for (let asked = 0; asked < 40; asked += 1) {
    const payload = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', text: 'Hello' };
    const sent = await service.request({ method: 'POST', url: '/v1/messages/send', key, payload });
    statuses.add(sent.statusCode).add((await get('/v1/messages?limit=1')).status);
    await service.deps.context.system.sleep(25);
  }
  expect([...statuses].filter((status) => ![200, 202, 503].includes(status))).toEqual([]);
  const id = await send();
  expect(idsOf((await get('/v1/messages?limit=1')).body)).toEqual([id]);
});
