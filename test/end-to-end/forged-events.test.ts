import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { apiClient, eventually } from '../support/api-client.ts';
import { readInbox } from '../support/captured-mail.ts';
import { operator, unlimitedKey } from '../support/operator.ts';
import { placeForTest, programForTest } from '../support/place-for-test.ts';

/** Inserts a copy of an event into another stream, or at another revision, as an intruder would who has the database. */
const FORGE = `
  select event_log.append(array[$2], array[$3::integer], array[1],
    array[regexp_replace(metadata, ',"mac":"[^"]+"', '')], array[1], array[1], array[$4], array[type], array[1],
    array[replace(data, $5, $6)], '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')
  from event_log.events where stream = $1 and revision = 0`;

const MESSAGE = { from: 'a@example.test', subject: 'Hello', text: 'Hello' };
const LEFT_OUT = 'left out an event that this service did not write';

test('an event that is inserted into the database sends no mail, makes no key and decides nothing, until it is adopted', async () => {
  const place = await placeForTest({ AUDIT_INTERVAL: '1' });
  const service = await programForTest(place);
  const admin = await unlimitedKey(place);
  const api = apiClient(service.baseUrl, admin);
  const client = new Client({ connectionString: place.env.DATABASE_URL });
  await client.connect();
  onTestFinished(() => client.end());
  const forge = (from: string, to: string, at: number, words: readonly [string, string]) =>
    client.query(FORGE, [from, to, at, crypto.randomUUID(), ...words]);
  const send = async (to: string) => (await api.post('/v1/messages/send', { ...MESSAGE, to })).body.id;
  const inbox = async (to: string) => (await readInbox(api, `?to=${to}`)).length;
  const isSentTo = (to: string) =>
    eventually(
      () => inbox(to),
      (count) => count > 0,
    );
  const leftOut = () => service.output().split(LEFT_OUT).length - 1;

  // A message, with the contents of a true one.
  const id = await send('ann@example.net');
  await isSentTo('ann@example.net');
  const forged = id.replace(/.{4}$/, 'aaaa');
  await forge(`message-${id}`, `message-${forged}`, -1, [id, forged]);
  await eventually(
    async () => leftOut(),
    (count) => count > 0,
  );

  // A key, with the secret of one that was revoked.
  const own = await api.get('/v1/api-keys?limit=1');
  const { domain_id: domainId } = own.body.data[0];
  const made = { name: 'x', domain_id: domainId, permissions: ['read'] };
  const { id: keyId, key: secret } = (await api.post('/v1/api-keys', made)).body;
  const thief = apiClient(service.baseUrl, secret);
  expect((await thief.get('/v1/messages')).status).toBe(200);
  await api.post(`/v1/api-keys/${keyId}/revoke`, {});
  const forgedKey = keyId.replace(/.{4}$/, 'aaaa');
  const before = leftOut();
  await forge(`apiKey-${keyId}`, `apiKey-${forgedKey}`, -1, [keyId, forgedKey]);
  await eventually(
    async () => leftOut(),
    (count) => count > before,
  );
  expect((await thief.get('/v1/messages')).status).toBe(401);

  // A later event of a true key: commands that load the stream are refused.
  const other = (await api.post('/v1/api-keys', made)).body.id;
  await forge(`apiKey-${other}`, `apiKey-${other}`, 0, ['"read"', '"admin"']);
  const refused = await api.post(`/v1/api-keys/${other}/rotate`, {});
  expect([refused.status, refused.body.error.code]).toEqual([503, 'unavailable']);
  expect(refused.body.error.message).toMatch(
    new RegExp(`^event \\S+ \\(KeyCreated\\) of apiKey-${other} was inserted or changed in the database`),
  );

  // Histories, reports and the audit log do not show it.
  for (const path of [`api-keys/${other}/history`, `audit/reports/api-keys/${other}`, `audit/log?key_id=${other}`]) {
    const shown = await api.get(`/v1/${path}`);
    expect([path, shown.status, shown.body.error?.message]).toEqual([path, 503, refused.body.error.message]);
  }

  expect(service.output()).toMatch(/"type":"ForeignEvent".*"alarm":"audit".*"msg":"a request failed"/);

  // Mail after it was sent, and the copy of the first message was not.
  await send('bob@example.net');
  await isSentTo('bob@example.net');
  expect(await inbox('ann@example.net')).toBe(1);

  const adopted = await operator(place, 'audit', 'adopt', '--reason', 'a test');
  expect(adopted.first_events.length).toBeGreaterThan(0);
  expect((await api.post(`/v1/api-keys/${other}/rotate`, {})).status).toBe(200);
  expect((await api.get(`/v1/api-keys/${other}/history`)).body.data).toHaveLength(3);
  expect(adopted.next).toContain('restart the service');
  expect((await thief.get('/v1/messages')).status).toBe(401);
  await service.end('SIGTERM');
  const again = await programForTest(place);
  expect((await apiClient(again.baseUrl, secret).get('/v1/messages')).status).toBe(200);
}, 300_000);
