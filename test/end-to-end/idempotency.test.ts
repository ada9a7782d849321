import { describe, expect, onTestFinished, test } from 'vitest';
import { type Answer, type AnyBody, type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { startEventStoreDbDouble } from '../support/eventstoredb-double/start.ts';
import { operator, unlimitedKey } from '../support/operator.ts';
import { type Place, placeForTest, programForTest } from '../support/place-for-test.ts';
import type { Program } from '../support/program.ts';

const SEND = '/v1/messages/send';
const MESSAGE = { from: 'a@example.test', to: 'b@example.org', subject: 'Once', html: '<p>Once</p>' };

interface Pair {
  readonly place: Place;
  readonly programs: readonly [Program, Program];
}

/** One service in two processes. Both accept requests, and one of them runs the other roles. */
const startPair = async (engine: Record<string, string> = {}): Promise<Pair> => {
  const place = await placeForTest(engine);
  const start = (roles: string): Promise<Program> => programForTest({ ...place, env: { ...place.env, ROLES: roles } });
  return { place, programs: [await start('api,projections,workers'), await start('api')] };
};

const clientsOf = ({ programs }: Pair, key: string): readonly [ApiClient, ApiClient] => [
  apiClient(programs[0].baseUrl, key),
  apiClient(programs[1].baseUrl, key),
];

const once = (api: ApiClient, name: string, message: object = MESSAGE) =>
  api.post(SEND, message, { 'idempotency-key': name });
const isReplay = ({ headers }: Answer<AnyBody>): boolean => headers.get('idempotent-replayed') === 'true';
const listed = async (api: ApiClient): Promise<readonly AnyBody[]> => (await api.get('/v1/messages')).body.data;

/** Sends 50 identical requests at once, half to each process, and expects one message. */
const expectOneOfFifty = async (both: readonly [ApiClient, ApiClient]): Promise<string> => {
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => once(both[index % 2 === 0 ? 0 : 1], 'race')),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
  expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  expect(answers.filter(isReplay).length).toBeGreaterThanOrEqual(49);
  const { id } = answers[0]?.body ?? {};
  await eventually(
    () => both[1].get(`/v1/messages/${id}`),
    ({ body }) => body.status === 'delivered',
  );
  expect((await listed(both[0])).map((one) => one.id)).toEqual([id]);
  expect((await both[0].get('/v1/inbox')).body.data).toHaveLength(1);
  return id;
};

describe('an Idempotency-Key on two processes', () => {
  test('turns 50 concurrent equal requests into one message, one delivery and one response, for ever', async () => {
    const pair = await startPair();
    const key = await unlimitedKey(pair.place);
    const [one, other] = clientsOf(pair, key);
    const id = await expectOneOfFifty([one, other]);

    const reused = await once(other, 'race', { ...MESSAGE, subject: 'Another' });
    expect([reused.status, reused.body.error.code]).toEqual([422, 'idempotency_key_reused']);

    const { id: keyId } = (await one.get('/v1/api-keys')).body.data[0]; // the newest key is this one
    const rotated = await one.post(`/v1/api-keys/${keyId}/rotate`, { revoke_previous: true });
    const replayed = await once(apiClient(pair.programs[1].baseUrl, rotated.body.key), 'race');
    expect([replayed.status, replayed.body.id, isReplay(replayed)]).toEqual([202, id, true]);
  });

  test('reveals nothing to others: another organization and the other environment get messages of their own', async () => {
    const pair = await startPair();
    const { live, test: simulated } = pair.programs[0].keys;
    const [one] = clientsOf(pair, live);
    const first = await once(one, 'theirs');

    const { organization_id: organization } = await operator(pair.place, 'organizations', 'create', '--name', 'Other');
    const named = ['--organization', organization, '--name', 'other.test'];
    const { domain_id: domain } = await operator(pair.place, 'domains', 'create', ...named);
    const bound = ['--organization', organization, '--domain', domain, '--permissions', 'admin'];
    const { key: foreign } = await operator(pair.place, 'keys', 'create', ...bound);

    const theirs = await once(clientsOf(pair, foreign)[1], 'theirs', { ...MESSAGE, from: 'a@other.test' });
    const sandbox = await once(clientsOf(pair, simulated)[1], 'theirs');
    expect([theirs.status, isReplay(theirs), sandbox.status, isReplay(sandbox)]).toEqual([202, false, 202, false]);
    expect(new Set([first.body.id, theirs.body.id, sandbox.body.id]).size).toBe(3);
  });

  test('turns a batch that reaches both at once into one batch', async () => {
    const pair = await startPair();
    const both = clientsOf(pair, await unlimitedKey(pair.place));
    const messages = Array.from({ length: 20 }, (_, index) => ({ ...MESSAGE, subject: `${index}` }));
    const send = (api: ApiClient) => api.post('/v1/messages/batch', { messages }, { 'idempotency-key': 'batch' });
    const answers = await Promise.all([...both, ...both, ...both].map(send));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(await listed(both[1])).toHaveLength(20);
  });

  test('works the same with the log in EventStoreDB', async () => {
    const eventStore = await startEventStoreDbDouble();
    onTestFinished(eventStore.close);
    const pair = await startPair({ EVENTSTORE_URL: eventStore.url });
    await expectOneOfFifty(clientsOf(pair, await unlimitedKey(pair.place)));
  });
});
