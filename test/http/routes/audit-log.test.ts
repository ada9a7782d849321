import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openAdminTenant } from '../support/admin-tenant.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

interface Entry {
  readonly leaf_index: number;
  readonly type: string;
  readonly actor: { readonly id: string; readonly secret: number; readonly secret_last4: string | null };
  readonly address: string | null;
  readonly data: { readonly messageId?: string; readonly subjectId?: string };
}

const CLIENT = '127.0.0.1';
const MESSAGES = 40;

let service: DatabaseService;
let domainId: string;
let key: string;

beforeAll(async () => {
  service = await startDatabaseService();
  ({ domainId, key } = await openAdminTenant(service, 'entries.example'));
});
afterAll(() => service.close());

const call = async (method: 'GET' | 'POST', url: string, by = key, payload?: object) => {
  return (await service.request({ method, url, key: by, ...(payload === undefined ? {} : { payload }) })).json();
};

const send = async (by = key): Promise<string> => {
  const message = { from: 'a@entries.example', to: 'b@example.org', subject: 'Hi', text: 'Hi' };
  return (await call('POST', '/v1/messages/send', by, message)).id;
};

/** All entries that match a filter, page by page. */
const entriesOf = async (query: string, by = key): Promise<readonly Entry[]> => {
  const entries: Entry[] = [];
  for (let cursor = ''; ; ) {
    const page = await call(
      'GET',
      `/v1/audit/log?${query}${query.includes('order=') ? '' : '&order=asc'}${cursor}`,
      by,
    );
    entries.push(...page.data);
    if (!page.has_more) return entries;
    cursor = `&after=${page.next_cursor}`;
  }
};

describe('an entry of the audit log', () => {
  test('says from where a change was requested, and with which secret of the key', async () => {
    const { id } = await call('POST', '/v1/api-keys', key, {
      ...{ name: 'Shop', domain_id: domainId, permissions: ['manage', 'send'] },
    });
    const { key: second } = await call('POST', `/v1/api-keys/${id}/rotate`, key, {});
    await call('POST', `/v1/api-keys/${id}/rotate`, second, {});
    const entries = await entriesOf(`key_id=${id}`);
    const { data: history } = await call('GET', `/v1/api-keys/${id}/history`);
    expect(history.map(({ leaf_index: index }: Entry) => index).reverse()).toEqual(
      entries.map(({ leaf_index: index }) => index),
    );
    expect(entries.map(({ type, address }) => [type, address])).toEqual([
      ['KeyCreated', CLIENT],
      ['KeyRotated', CLIENT],
      ['KeyRotated', CLIENT],
    ]);
    expect(entries.map(({ actor }) => [actor.secret, actor.secret_last4])).toEqual([
      [1, key.slice(-4)],
      [1, key.slice(-4)],
      [2, second.slice(-4)],
    ]);
  });

  test('says so to auditors, but not from where mail was sent, which is not kept', async () => {
    const auditor = { name: 'Ann', expires_at: '2099-01-01T00:00:00Z' };
    const { token } = await call('POST', '/v1/audit/auditors', key, auditor);
    const entries = await entriesOf('type=AuditorAdded', token);
    expect(entries).toMatchObject([{ address: CLIENT, actor: { secret_last4: key.slice(-4) } }]);
    const id = await send();
    const [sent] = await entriesOf(`message_id=${id}`, token);
    expect(sent).toMatchObject({ address: null, actor: { secret: 1, secret_last4: key.slice(-4) } });
  });
});

test('an entry is not shown while its leaf differs from the log, and neither is a past state that ends there', async () => {
  const { id } = await call('POST', '/v1/api-keys', key, { name: 'Leaf', domain_id: domainId, permissions: ['send'] });
  const [entry] = await entriesOf(`key_id=${id}`);
  const index = entry?.leaf_index ?? -1;
  const database = new Client({ connectionString: service.url });
  await database.connect();
  onTestFinished(() => database.end());
  const change = (from: string, to: string) =>
    database.query('update read_models.audit_tail set leaf = replace(leaf, $1, $2)', [from, to]);
  const shown = async () => [
    await service.request({ url: `/v1/audit/log?key_id=${id}`, key }),
    await service.request({ url: `/v1/api-keys/${id}?at=leaf:${index}`, key }),
  ];
  await change('"name":"Leaf"', '"name":"Loaf"');
  for (const answer of await shown()) {
    expect(answer.statusCode).toBe(503);
    expect(answer.json().error.message).toMatch(
      new RegExp(
        `^leaf ${index} of the audit log, event \\S+, differs from the event in the log: the database was changed`,
      ),
    );
  }
  await change('"name":"Loaf"', '"name":"Leaf"');
  expect((await shown()).map(({ statusCode }) => statusCode)).toEqual([200, 200]);
});

describe('entries about one message', () => {
  test('are those of its stream, and those about reading it', async () => {
    const id = await send();
    await send();
    await call('GET', `/v1/messages/${id}/content`);
    const entries = await entriesOf(`message_id=${id}`);
    expect(entries.map(({ type, data }) => [type, data.messageId ?? data.subjectId])).toEqual([
      ['MessageAccepted', id],
      ['DataRead', id],
    ]);
    expect(await entriesOf(`message_id=${id}&type=DataRead`)).toEqual(entries.slice(1));
  });

  test('are found in full bundles, without those of a message whose id begins alike', async () => {
    const ids: string[] = [];
    for (let round = 0; round < 300 / MESSAGES; round += 1) {
      ids.push(...(await Promise.all(Array.from({ length: MESSAGES }, () => send()))));
    }
    const read = (await entriesOf('type=DataRead'))[0]?.data.subjectId ?? '';
    for (const order of ['asc', 'desc']) {
      const found = await entriesOf(`message_id=${read}&order=${order}`);
      expect(found.map(({ type }) => type).toSorted()).toEqual(['DataRead', 'MessageAccepted']);
    }
    for (const id of [ids[0], ids[100], ids.at(-1)]) {
      expect((await entriesOf(`message_id=${id}`)).map(({ data }) => data.messageId)).toEqual([id]);
      expect(await entriesOf(`message_id=${id?.slice(0, 8)}${'a'.repeat(22)}`)).toEqual([]);
    }

    const stranger = await openAdminTenant(service, 'stranger.example');
    expect(await entriesOf(`message_id=${ids[0]}`, stranger.key)).toEqual([]);
  });
});

test.each(['message_id', 'actor', 'key_id', 'domain_id', 'type'])('the filter %s refuses NUL', async (filter) => {
  expect((await service.request({ url: `/v1/audit/log?${filter}=a%00b`, key })).statusCode).toBe(400);
});
