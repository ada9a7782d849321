import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { freePort } from '../support/free-port.ts';
import { freshDatabase, type TestDatabase } from '../support/postgres.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';

const MESSAGE = { from: 'shop@example.test', to: 'ann@example.net', subject: 'Hello', text: 'Hello' };
const LATER = new Date(Date.now() + 86_400_000).toISOString();

describe('message contents', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let database: TestDatabase;
  let metricsPort: number;
  let program: Program;
  let key: string;
  let api: ApiClient;

  const start = async (): Promise<Program> => {
    const secrets = { DATABASE_URL: database.url, SECRET_KEY: 'a secret key that is long enough for a test' };
    return startProgram({ dataDir: data.path, env: { ...secrets, METRICS_PORT: String(metricsPort) } });
  };

  beforeAll(async () => {
    [data, database, metricsPort] = await Promise.all([newDataDir(), freshDatabase(), freePort()]);
    program = await start();
    key = program.keys.live;
    api = apiClient(program.baseUrl, key);
  });
  afterAll(async () => {
    await program.end('SIGTERM');
    await database.drop();
    await data.remove();
  });

  const query = async (text: string, values: readonly unknown[]): Promise<void> => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query(text, [...values]).finally(() => client.end());
  };

  const send = async (more: object = {}): Promise<string> => {
    const { status, body } = await api.post('/v1/messages/send', { ...MESSAGE, ...more });
    expect(status).toBe(202);
    return body.id;
  };
  const read = async (id: string) => (await api.get(`/v1/messages/${id}`)).body;
  const isDelivered = ({ status }: { readonly status: string }): boolean => status === 'delivered';

  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
  };

  test('are removed an hour after the last recipient is final if nothing is kept, and no alarm is raised', async () => {
    const { body } = await api.patch('/v1/organization', { content_retention_days: 0 });
    expect(body.content_retention_days).toBe(0);
    const [old, young, open] = [await send(), await send(), await send({ scheduled_at: LATER })];
    for (const id of [old, young]) await eventually(() => read(id), isDelivered);
    const age = `update vault.contents set created_at = now() - interval '61 minutes' where message_id = any($1)`;
    await query(age, [[old, open]]);

    await program.end('SIGTERM');
    program = await start(); // the start begins a round
    api = apiClient(program.baseUrl, key);
    await eventually(
      () => read(old),
      ({ content }) => content === 'expired',
    );
    expect(await read(old)).toMatchObject({ subject: null, from: null, recipients: [{ address: null }] });
    const content = await api.get(`/v1/messages/${old}/content`);
    expect([content.status, content.body.error.code]).toEqual([410, 'content_gone']);
    const events = await api.get(`/v1/events?after=start&message_id=${old}`);
    expect(events.body.data.map(({ type }: { type: string }) => type)).toContain('message.delivered');
    for (const id of [young, open]) expect(await read(id)).toMatchObject({ content: 'stored', subject: 'Hello' });
    expect(await metric('outbox_contents_expired_total')).toBeGreaterThan(0);
    expect(await metric('outbox_contents_missing_total')).toBe(0);
  });

  test('that are missing without a record raise an alarm when they are read', async () => {
    const id = await send();
    await eventually(() => read(id), isDelivered);
    expect(await metric('outbox_contents_missing_total')).toBe(0);
    await query('delete from vault.contents where message_id = $1', [id]);
    expect((await read(id)).content).toBeNull();
    expect((await api.get(`/v1/messages/${id}/content`)).status).toBe(503);
    expect(await metric('outbox_contents_missing_total')).toBeGreaterThan(0);
    expect(program.output()).toContain('the vault has lost contents: restore them from a backup');
  });
});
