import { stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { createPostgresEventStore } from '../../src/adapters/event-store.ts';
import { createSystem } from '../../src/adapters/system.ts';
import { eventCodec } from '../../src/domain/kernel/codec.ts';
import { type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { partitionsOf } from '../support/log-rows.ts';
import { silentLogger } from '../support/logger.ts';
import { operator, unlimitedKey } from '../support/operator.ts';
import { placeForTest, programForTest } from '../support/place-for-test.ts';

/** The smallest allowed size. A message has three events. */
const PARTITION_EVENTS = 2_000;
const MESSAGES = 800;

const query = async (url: string, text: string): Promise<readonly unknown[]> => {
  const sql = new Client({ connectionString: url });
  await sql.connect();
  return (await sql.query(text).finally(() => sql.end())).rows;
};

const makeSmallPartitions = async (url: string): Promise<void> => {
  await (
    await createPostgresEventStore({ url, codec: eventCodec, system: createSystem(), logger: silentLogger })
  ).close();
  await query(url, `begin; ${partitionsOf(PARTITION_EVENTS)}; commit`);
};

const message = (subject: string) => ({ from: 'a@example.test', to: 'b@example.org', subject, text: 'Hello' });

const sendMany = async (api: ApiClient): Promise<string> => {
  let firstId = '';
  for (let sent = 0; sent < MESSAGES; sent += 100) {
    const messages = Array.from({ length: 100 }, (_, n) => message(`${sent + n}`));
    const { status, body } = await api.post('/v1/messages/batch', { messages });
    expect(status).toBe(202);
    firstId ||= body.data[0].id;
  }
  return firstId;
};

const isDelivered = (api: ApiClient, id: string): Promise<unknown> =>
  eventually(
    async () => (await api.get(`/v1/messages/${id}`)).body.status,
    (status) => status === 'delivered',
    60_000,
  );

test('an old partition of the log can be detached while the service runs, which reports the gap, and attached again', async () => {
  const options = await placeForTest();
  await makeSmallPartitions(options.env.DATABASE_URL);
  const first = await programForTest(options);
  const key = await unlimitedKey(options);
  const api = apiClient(first.baseUrl, key);
  const old = await sendMany(api);
  await isDelivered(api, old);
  const detached = await eventually(
    () => operator(options, 'log', 'detach', 'events_000001').catch(({ stderr }) => ({ stderr })),
    ({ stderr }) => stderr === undefined,
    150_000,
  );
  expect(detached).toMatchObject({ detached: 'events_000001', table: 'event_log_archive.events_000001' });
  const listed = await operator(options, 'log', 'partitions');
  expect(listed[0]).toMatchObject({ name: 'events_000001', first: '1', last: '2000', detached_at: expect.any(String) });

  expect((await api.get(`/v1/messages/${old}/explain`)).status).toBe(503);
  const sent = await api.post('/v1/messages/send', message('while detached'));
  expect(sent.status).toBe(202);
  await isDelivered(api, sent.body.id);
  await first.end('SIGTERM');

  const second = await programForTest(options);
  const again = apiClient(second.baseUrl, key);
  const next = await again.post('/v1/messages/send', message('after a start'));
  await isDelivered(again, next.body.id);
  const backup = join(options.dataDir, 'backup');
  await operator(options, 'backup', backup);
  const target = await placeForTest();
  await operator(target, 'restore', backup);
  const restored = await operator(target, 'log', 'partitions');
  expect(restored.map(({ name, last }: Record<string, unknown>) => [name, last])).toEqual(
    (await operator(options, 'log', 'partitions')).map(({ name, last }: Record<string, unknown>) => [name, last]),
  );

  expect(await operator(options, 'log', 'attach', 'events_000001')).toEqual({ attached: 'events_000001' });
  expect((await again.get(`/v1/messages/${old}/explain`)).status).toBe(200);

  const whole = join(options.dataDir, 'whole');
  const following = join(options.dataDir, 'following');
  await operator(options, 'backup', whole);
  await operator(options, 'backup', following, '--after', whole);
  const isShared = async (file: string) =>
    (await stat(join(following, file))).ino === (await stat(join(whole, file))).ino;
  expect(await isShared('event_log.events_000001.copy.zst')).toBe(true);
  expect(await isShared('event_log.events_000002.copy.zst')).toBe(false);
  const other = await placeForTest();
  await operator(other, 'restore', following);
  const digest = `select md5(string_agg(id::text, ',' order by position)) from event_log.events where position <= 2000`;
  expect(await query(other.env.DATABASE_URL, digest)).toEqual(await query(options.env.DATABASE_URL, digest));

  await truncate(join(whole, 'event_log.events_000001.copy.zst'), 100);
  const refused = operator(options, 'backup', join(options.dataDir, 'third'), '--after', whole);
  await expect(refused).rejects.toMatchObject({ stderr: expect.stringContaining('make a backup without --after') });
  const damaged = operator(await placeForTest(), 'restore', following); // both share the file
  await expect(damaged).rejects.toMatchObject({ stderr: expect.stringContaining('is damaged') });
}, 400_000);
