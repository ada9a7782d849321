import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { folderForTest, placeForTest, programForTest } from '../support/after-test.ts';
import { type AnyBody, apiClient, eventually } from '../support/api-client.ts';
import { startEventStoreDbDouble } from '../support/eventstoredb-double/start.ts';
import { operator } from '../support/operator.ts';

const message = { from: 'shop@example.test', to: 'delivered@sandbox.outbox.test', subject: 'Hello', text: 'Hello' };

/** Sends two messages, the second after the moment that is answered with the id of the first. */
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

test('the operator gets read models of a moment beside the service on its built-in database, and drops them', async () => {
  const options = { dataDir: await folderForTest() };
  const program = await programForTest(options);
  const { id, time } = await sendTwo(apiClient(program.baseUrl, program.keys.live));
  const made = await operator(options, 'replay', '--until', time, '--into', 'replay_then');
  expect(made).toMatchObject({ schema: 'replay_then', until: time, organization_id: null, parked_events: 0 });
  expect(await messagesIn(made)).toEqual([{ message_id: id, status: 'delivered' }]);
  const dropped = await operator(options, 'replay', 'drop', 'replay_then');
  expect(dropped).toEqual({ schema: 'replay_then', dropped: true });
}, 120_000);

test('read models of a moment are made from a log in EventStoreDB', async () => {
  const { dataDir, env } = await placeForTest();
  const eventStore = await startEventStoreDbDouble();
  onTestFinished(eventStore.close);
  const options = { dataDir, env: { ...env, EVENTSTORE_URL: eventStore.url } };
  const program = await programForTest(options);
  const { id, time } = await sendTwo(apiClient(program.baseUrl, program.keys.live));
  const made = await operator(options, 'replay', '--until', time, '--into', 'replay_then');
  expect(await messagesIn(made)).toEqual([{ message_id: id, status: 'delivered' }]);
  await operator(options, 'replay', 'drop', 'replay_then');
}, 120_000);
