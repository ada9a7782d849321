import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { readInbox } from '../support/captured-mail.ts';
import { placeForTest, programForTest } from '../support/place-for-test.ts';
import { redisIsMissing, startRedis } from '../support/redis.ts';
import { ADDRESS, dumpOf, dumpOfRedis, formsIn } from '../support/traces.ts';

/** A receiver that echoes the request body. @returns its URL. */
const startEcho = async (): Promise<string> => {
  const server = createServer((request, response) => {
    request.pipe(response.writeHead(200));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
};

const HTML = `<p>Dear ${ADDRESS}, <a href="https://shop.example/?who=${encodeURIComponent(ADDRESS)}">look</a></p>`;

/** Sends a message in which every field names its recipient, and has it delivered, opened and clicked. */
const sendTo = async (api: ApiClient, more: object = {}): Promise<string> => {
  const named = { html: HTML, subject: `For ${ADDRESS}`, tags: [{ name: 'who', value: ADDRESS.replace('@', '_') }] };
  const attachments = [{ filename: `${ADDRESS}.txt`, content: Buffer.from(`of ${ADDRESS}`).toString('base64') }];
  const message = { from: 'shop@example.test', to: ADDRESS, ...named, attachments, metadata: { who: ADDRESS } };
  const tracking = { opens: true, clicks: true };
  const { status, body } = await api.post('/v1/messages/send', { ...message, tracking, ...more });
  expect([status, body.error]).toEqual([202, undefined]);
  return body.id;
};

/** Sends an invalid request in which every field names its recipient. @returns its id. */
const refusedTo = async (api: ApiClient): Promise<string> => {
  const body = { to: [ADDRESS, `Ann <${ADDRESS}>`], html: HTML, [ADDRESS]: ADDRESS, headers: { 'X-Who': ADDRESS } };
  const { headers } = await api.post('/v1/messages/send', body);
  const id = headers.get('x-request-id') ?? '';
  expect((await api.get(`/v1/requests/${id}`)).body.body.text).toContain('***@example.net');
  return id;
};

const isDelivered = ({ body }: { readonly body: { readonly status: string } }): boolean => body.status === 'delivered';

/** Visits every link to the service in the captured mail. */
const engage = async (api: ApiClient, baseUrl: string): Promise<void> => {
  const [{ html }] = await readInbox(api);
  const links = [...html.matchAll(/(?:href|src)="([^"]*\/[co]\/[^"]*)"/g)].map(([, link]) =>
    String(link).replaceAll('&amp;', '&'),
  );
  expect(links.length).toBeGreaterThan(1);
  for (const link of links)
    await fetch(new URL(new URL(link).pathname + new URL(link).search, baseUrl), { redirect: 'manual' });
};

test.skipIf(redisIsMissing)(
  'an erasure removes the address everywhere: database, Redis, log, API and captured mail',
  async () => {
    const redis = await startRedis();
    onTestFinished(redis.stop);
    const place = await placeForTest({ REDIS_URL: redis.url, OUTBOX_TRIAL: 'quick', LOG_LEVEL: 'debug' });
    const program = await programForTest(place);
    const api = apiClient(program.baseUrl, program.keys.live);
    const pool = new Pool({ connectionString: place.env.DATABASE_URL, max: 1 });
    onTestFinished(() => pool.end());
    await api.patch('/v1/organization', { contact: ADDRESS });
    await api.post('/v1/webhooks', { url: await startEcho(), events: ['message.*'] });
    const id = await sendTo(api);
    const later = await sendTo(api, { scheduled_at: new Date(Date.now() + 86_400_000).toISOString() });
    await eventually(() => api.get(`/v1/messages/${id}`), isDelivered);
    await engage(api, program.baseUrl);
    const refused = await refusedTo(api);
    await api.post('/v1/suppressions', { address: ADDRESS, note: `${ADDRESS} wrote to us`, scope: 'bulk' });
    await eventually(
      () => api.get('/v1/events?types=message.clicked'),
      ({ body }) => body.data.length > 0,
      30_000,
    );
    const stats = (await api.get('/v1/stats')).body.totals;
    const billed = (await api.get('/v1/billing/usage')).body.billable_recipients;
    expect(formsIn(await dumpOf(pool)).length).toBeGreaterThan(3);

    const asked = await api.post('/v1/erasures', { address: ADDRESS, reason: 'objection', suppress: true });
    expect([asked.status, formsIn(JSON.stringify(asked.body))]).toEqual([202, []]);
    const done = await eventually(
      () => api.get(`/v1/erasures/${asked.body.id}`),
      ({ body }) => body.state === 'completed',
      30_000,
    );
    expect(done.body.certificate.removed).toMatchObject({ messages: 2, links: 1, captured_mail: 1, contacts: 1 });
    expect(done.body.certificate.removed.webhook_tries).toBeGreaterThan(3);
    expect((await api.get(`/v1/requests/${refused}`)).status).toBe(404);
    expect((await api.get(`/v1/messages/${later}`)).body).toMatchObject({ status: 'cancelled', content: 'erased' });

    expect((await api.get('/v1/stats')).body.totals).toEqual({ ...stats, cancelled: stats.cancelled + 1 });
    expect((await api.get('/v1/billing/usage')).body.billable_recipients).toBe(billed);
    expect((await api.post('/v1/audit/checkpoints', {})).status).toBeLessThan(300);
    const paths = [
      '/v1/events?limit=100',
      '/v1/requests',
      '/v1/messages',
      '/v1/inbox',
      '/v1/suppressions',
      '/v1/audit/export',
    ];
    for (const path of [...paths, `/v1/messages/${id}/explain`]) {
      const answer = await fetch(program.baseUrl + path, { headers: { authorization: `Bearer ${program.keys.live}` } });
      const text = await answer.text();
      expect([path, answer.status, formsIn(text)]).toEqual([path, 200, []]);
      if (path === '/v1/audit/export') expect(text).toContain('PersonErased');
    }
    expect(formsIn(await dumpOf(pool))).toEqual([]);
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    expect(formsIn(await dumpOfRedis(client))).toEqual([]);
    expect(formsIn(program.output())).toEqual([]);
  },
);

test('an erasure removes the words by which parts of the address and of the name found its messages', async () => {
  const place = await placeForTest({ OUTBOX_TRIAL: 'quick' });
  const program = await programForTest(place);
  const api = apiClient(program.baseUrl, program.keys.live);
  const pool = new Pool({ connectionString: place.env.DATABASE_URL, max: 1 });
  onTestFinished(() => pool.end());
  const id = await sendTo(api, { to: [`Ann Person <${ADDRESS}>`, 'bob@example.org'] });
  await eventually(() => api.get(`/v1/messages/${id}`), isDelivered);
  const found = async (filter: string): Promise<readonly string[]> =>
    (await api.get(`/v1/messages?${filter}`)).body.data.map((message: { readonly id: string }) => message.id);
  const indexed = async (): Promise<number> =>
    (await pool.query('select from vault.contents where subject_words is not null')).rowCount ?? 0;
  const parts = ['to=ann', 'to=person', 'to=ann.per', 'to=person@exa', 'tag=ann.person_example.net'];
  for (const part of parts) expect([part, await found(part)]).toEqual([part, [id]]);
  expect(await indexed()).toBe(1);

  const asked = await api.post('/v1/erasures', { address: ADDRESS });
  await eventually(
    () => api.get(`/v1/erasures/${asked.body.id}`),
    ({ body }) => body.state === 'completed',
    30_000,
  );
  for (const part of parts) expect([part, await found(part)]).toEqual([part, []]);
  expect(await indexed()).toBe(0);
  // The message itself stays, and its other recipient finds it.
  expect(await found('to=bob@example.org')).toEqual([id]);
});
