import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';

let service: DatabaseService;
let key: string;

beforeAll(async () => {
  service = await startDatabaseService({ encrypts: true });
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'a.test'))).value;
});
afterAll(() => service.close());

const MESSAGE = {
  from: 'Sender <x@a.test>',
  to: 'reader@example.org',
  subject: 'A subject of its own',
  html: '<p>Hello reader</p>',
  tags: [{ name: 'kind', value: 'welcome' }],
};

const get = async (url: string) => (await service.request({ url, key })).json();

test('with encrypted contents the API works unchanged, and the database reveals nothing of a message', async () => {
  const send = () =>
    service.request({
      method: 'POST',
      url: '/v1/messages/send',
      key,
      payload: MESSAGE,
      headers: { 'idempotency-key': 'once' },
    });
  const { id } = (await send()).json();
  expect((await send()).json().id).toBe(id);
  expect(await get(`/v1/messages/${id}`)).toMatchObject({ subject: MESSAGE.subject, from: 'x@a.test' });
  expect(await get(`/v1/messages/${id}/content`)).toMatchObject({ html: MESSAGE.html });
  for (const filter of ['to=reader@example.org', 'from=x@a.test', 'tag=kind:welcome', `subject=${MESSAGE.subject}`])
    expect((await get(`/v1/messages?${filter}`)).data).toMatchObject([{ id, subject: MESSAGE.subject }]);
  expect((await get(`/v1/messages/${id}/events`)).data.length).toBeGreaterThan(0);

  const client = new Client({ connectionString: service.url });
  await client.connect();
  const tables = await client.query<{ name: string }>(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
    where table_schema in ('vault', 'event_log', 'read_models') and table_type = 'BASE TABLE'`,
  );
  for (const { name } of tables.rows) {
    const { rows } = await client.query<{ text: string }>(`select t::text as text from ${name} t`);
    const text = rows.map((row) => row.text).join('\n');
    for (const word of ['reader@', 'A subject', 'Hello reader', 'welcome', 'Sender'])
      expect([name, word, text.includes(word)]).toEqual([name, word, false]);
  }
  await client.end();
});
