import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readWholeStream } from '../../../../src/commands/execute.ts';
import { organizationSecret } from '../../../../src/commands/organization.ts';
import { suppressRecipient } from '../../../../src/commands/suppression.ts';
import { messageStream } from '../../../../src/domain/kernel/streams.ts';
import { unsubscribeToken } from '../../../../src/domain/message/tokens.ts';
import { isSuppressing } from '../../../../src/domain/suppression/suppression.ts';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';

/** An organization with two domains. Keys with only `read` belong to one of them. */
let service: DatabaseService;
let admin: string;
let manager: string;
let first: string;
let second: string;
let firstReader: string;
let secondReader: string;
let topicId: string;

const ask = async (url: string, key: string, payload?: object) => {
  const method = payload === undefined ? 'GET' : 'POST';
  const answer = await service.request({ method, url, key, ...(payload === undefined ? {} : { payload }) });
  const isJson = String(answer.headers['content-type']).startsWith('application/json');
  return { status: answer.statusCode, text: answer.body, body: isJson ? answer.json() : null };
};

let secret: Uint8Array;

const send = async (from: string, to: string) => {
  const message = { from, to, subject: 'x', text: 'x', stream: 'bulk', topic: topicId };
  const sent = (await ask('/v1/messages/send', from.endsWith('first.test') ? first : second, message)).body;
  return { id: sent.id as string, token: unsubscribeToken(secret, sent.id, sent.recipients[0].id) };
};

/** Sends a message whose recipient opts out of all mail on the preference page. */
const refuse = async (from: string, to: string): Promise<string> => {
  const { id, token } = await send(from, to);
  await service.request({
    method: 'POST',
    url: `/unsubscribe/${token}`,
    payload: 'List-Unsubscribe=One-Click',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  const { context } = service.deps;
  const events = await readWholeStream(context.store, messageStream(id));
  const said = events.filter(isSuppressing);
  expect(said).toHaveLength(1);
  for (const event of said) await suppressRecipient(context, event);
  return id;
};

const addressesIn = async (key: string, query = ''): Promise<readonly string[]> =>
  (await ask(`/v1/suppressions${query}`, key)).body.data.map(({ address }: { address: string }) => address);

const NOTE = 'Telephoned; her lawyer is Dr Weiss';

beforeAll(async () => {
  service = await startDatabaseService();
  const own = await service.makeOrganization();
  secret = await organizationSecret(service.deps.context.secrets, own);
  const [one, two] = [await service.makeDomain(own, 'first.test'), await service.makeDomain(own, 'second.test')];
  first = (await service.makeKey(own, one)).value;
  second = (await service.makeKey(own, two)).value;
  admin = first;
  manager = (await service.makeKey(own, two, { permissions: ['manage', 'read'] })).value;
  firstReader = (await service.makeKey(own, one, { permissions: ['read'] })).value;
  secondReader = (await service.makeKey(own, two, { permissions: ['read'] })).value;
  topicId = (await ask('/v1/topics', admin, { name: 'Offers', default: 'in' })).body.id;
  await refuse('a@first.test', 'first@example.net');
  await refuse('a@second.test', 'second@example.net');
  await ask('/v1/suppressions', admin, { address: 'noted@example.net', note: NOTE });
});
afterAll(() => service.close());

describe('a key that sees only its own domain', () => {
  test('lists what messages of its domain have caused, and no entry that was added by hand', async () => {
    expect(await addressesIn(firstReader)).toEqual(['first@example.net']);
    expect(await addressesIn(secondReader)).toEqual(['second@example.net']);
    expect(await addressesIn(admin)).toEqual(['noted@example.net', 'second@example.net', 'first@example.net']);
    expect(await addressesIn(manager)).toHaveLength(3);
  });

  test('finds nothing of another domain by filters, at a moment, by id or by the search', async () => {
    for (const query of ['?reason=manual', '?address=noted@example.net', '?address=first@example.net']) {
      expect(await addressesIn(secondReader, query)).toEqual([]);
    }
    const now = encodeURIComponent(new Date().toISOString());
    expect(await addressesIn(secondReader, `?at=${now}`)).toEqual(['second@example.net']);
    const { data } = (await ask('/v1/suppressions', admin)).body;
    const seen = await Promise.all(
      data.map(async ({ id }: { id: string }) => [
        (await ask(`/v1/suppressions/${id}`, secondReader)).status,
        (await ask(`/v1/search?q=${id}`, secondReader)).body.data.length,
      ]),
    );
    expect(seen).toEqual([
      [404, 0],
      [200, 1],
      [404, 0],
    ]);
    const byAddress = (await ask('/v1/search?q=noted@example.net', secondReader)).body.data;
    expect(byAddress).toEqual([]);
    expect((await ask('/v1/search?q=noted@example.net', admin)).body.data).toHaveLength(1);
  });

  test('exports its own, without notes of others', async () => {
    const { text } = await ask('/v1/suppressions/export', secondReader);
    expect(text.trim().split('\r\n')).toEqual([
      'address,scope,reason,expires_at,note,topic_id',
      expect.stringMatching(/^second@example\.net,/),
    ]);
    expect((await ask('/v1/suppressions/export', admin)).text).toContain(NOTE);
  });

  test('learns whether any address is suppressed, and nothing more', async () => {
    const { body } = await ask('/v1/suppressions/check?address=noted@example.net', secondReader);
    expect(body).toEqual({
      object: 'suppression_check',
      address: 'noted@example.net',
      suppressed: { transactional: true, bulk: true },
      opted_in: [],
      suppression: null,
    });
    expect((await ask('/v1/suppressions/check?address=noted@example.net', admin)).text).toContain(NOTE);
  });

  test('sees only its own entries of an address that concerns both domains', async () => {
    const address = 'both@example.net';
    const message = await refuse('a@second.test', address);
    await ask('/v1/suppressions', admin, { address, note: NOTE });
    const { body } = await ask(`/v1/suppressions/check?address=${address}`, secondReader);
    expect(body.suppressed).toEqual({ transactional: true, bulk: true });
    expect(body.suppression).toMatchObject({ reason: 'unsubscribe', entries: [{ message_id: message }] });
    expect(await ask(`/v1/suppressions/${body.suppression.id}`, secondReader)).toMatchObject({ status: 200 });
    expect((await ask('/v1/suppressions', secondReader)).text).not.toContain(NOTE);
    expect(await addressesIn(secondReader, '?reason=manual')).toEqual([]);
    expect(await addressesIn(secondReader, '?reason=unsubscribe')).toContain(address);
  });

  test('sees who opted in through its own messages, and no evidence that others gave', async () => {
    const optIns = `/v1/topics/${topicId}/opt-ins`;
    await ask(optIns, admin, { addresses: ['given@example.net'], evidence: NOTE });
    const { token } = await send('a@second.test', 'asked@example.net');
    await service.request({
      method: 'POST',
      url: `/preferences/${token}`,
      payload: new URLSearchParams([
        ['action', 'save'],
        ['shown', topicId],
        ['topic', topicId],
      ]).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    const listed = async (key: string): Promise<readonly string[]> =>
      (await ask(optIns, key)).body.data.map(({ address }: { address: string }) => address);
    expect(await listed(admin)).toEqual(['asked@example.net', 'given@example.net']);
    expect(await listed(secondReader)).toEqual(['asked@example.net']);
    expect(await listed(firstReader)).toEqual([]);
  });
});
