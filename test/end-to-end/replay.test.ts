import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { type AnyBody, apiClient, eventually } from '../support/api-client.ts';
import { startEventStoreDbDouble } from '../support/eventstoredb-double/start.ts';
import { operator } from '../support/operator.ts';
import { folderForTest, placeForTest, programForTest } from '../support/place-for-test.ts';

const message = { from: 'shop@example.test', to: 'delivered@sandbox.outbox.test', subject: 'Hello', text: 'Hello' };

/** Sends two messages. @returns the id of the first, and a time between the two. */
const sendTwo = async (api: ReturnType<typeof apiClient>): Promise<{ readonly id: string; readonly time: string }> => {
  const { body } = await api.post('/v1/messages/send', message);
  await eventually(
    () => api.get(`/v1/messages/${body.id}`),
    (answer) => answer.body.status === 'delivered',
  );
  const time = new Date().toISOString();
  await eventually(
    async () => new Date().toISOString(),
    (now) => now > time,
  );
  expect((await api.post('/v1/messages/send', message)).status).toBe(202);
  return { id: body.id, time };
};

const messagesIn = async ({ url, password }: AnyBody): Promise<readonly AnyBody[]> => {
  const client = new Client({ connectionString: Object.assign(new URL(url), { password }).href });
  await client.connect();
  try {
    return (await client.query('select message_id, status from messages')).rows;
  } finally {
    await client.end();
  }
};

test('the operator builds read models of a past moment while the service runs on its built-in database, and drops them', async () => {
  const options = { dataDir: await folderForTest() };
  const program = await programForTest(options);
  const { id, time } = await sendTwo(apiClient(program.baseUrl, program.keys.live));
  const made = await operator(options, 'replay', '--until', time, '--into', 'replay_then');
  expect(made).toMatchObject({ schema: 'replay_then', until: time, organization_id: null, parked_events: 0 });
  expect(await messagesIn(made)).toEqual([{ message_id: id, status: 'delivered' }]);
  const dropped = await operator(options, 'replay', 'drop', 'replay_then');
  expect(dropped).toEqual({ schema: 'replay_then', dropped: true });
});

test('read models of a past moment can be built from a log in EventStoreDB', async () => {
  const { dataDir, env } = await placeForTest();
  const eventStore = await startEventStoreDbDouble();
  onTestFinished(eventStore.close);
  const options = { dataDir, env: { ...env, EVENTSTORE_URL: eventStore.url } };
  const program = await programForTest(options);
  const { id, time } = await sendTwo(apiClient(program.baseUrl, program.keys.live));
  const made = await operator(options, 'replay', '--until', time, '--into', 'replay_then');
  expect(await messagesIn(made)).toEqual([{ message_id: id, status: 'delivered' }]);
  await operator(options, 'replay', 'drop', 'replay_then');
});

/** Events that the double scans per second, so that a replay takes some seconds. */
const SLOWLY = 10;

test('a replay from EventStoreDB that is killed leaves remains that no list shows and the next one replaces', async () => {
  const { dataDir, env } = await placeForTest();
  const eventStore = await startEventStoreDbDouble();
  onTestFinished(eventStore.close);
  const options = { dataDir, env: { ...env, EVENTSTORE_URL: eventStore.url } };
  const program = await programForTest(options);
  const api = apiClient(program.baseUrl, program.keys.live);
  const { id, time } = await sendTwo(api);
  const client = new Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  onTestFinished(() => client.end());
  const namesOf = async (sql: string): Promise<readonly string[]> =>
    (await client.query<{ name: string }>(`select ${sql}`)).rows.map(({ name }) => name);
  const schemas = () => namesOf(`nspname as name from pg_namespace where nspname like '%replay\\_%' order by 1`);
  const roles = () => namesOf(`rolname as name from pg_roles where rolname like 'replay\\_%'`);
  const live = () => namesOf(`status as name from read_models.messages`);
  await eventually(live, (statuses) => statuses.join() === 'delivered,delivered');
  const before = await roles();

  const words = ['replay', '--until', time, '--into', 'replay_then', '--json'];
  eventStore.costs.scannedPerSecond = SLOWLY;
  const killed: ChildProcess = spawn(process.execPath, ['src/cli/main.ts', ...words], {
    env: { PATH: process.env.PATH, DATA_DIR: dataDir, ...options.env },
    stdio: 'ignore',
  });
  const ended = once(killed, 'exit');
  await eventually(
    () => namesOf(`to_regclass('unfinished_replay_then.messages')::text as name`),
    ([table]) => table !== null && eventStore.openReads() > 0,
    60_000,
  );
  killed.kill('SIGKILL');
  expect(await ended).toEqual([null, 'SIGKILL']);
  eventStore.costs.scannedPerSecond = Number.POSITIVE_INFINITY;

  expect([await schemas(), await operator(options, 'replay', 'list')]).toEqual([['unfinished_replay_then'], []]);
  expect([await roles(), await live()]).toEqual([before, ['delivered', 'delivered']]);
  const made = await operator(options, 'replay', '--until', time, '--into', 'replay_then');
  expect(await messagesIn(made)).toEqual([{ message_id: id, status: 'delivered' }]);
  expect(await schemas()).toEqual(['replay_then']);
  await operator(options, 'replay', 'drop', 'replay_then');
  expect([await schemas(), await roles()]).toEqual([[], before]);
}, 180_000);
