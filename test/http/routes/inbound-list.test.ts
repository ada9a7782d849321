import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { organizationSecret } from '../../../src/commands/organization.ts';
import { addressDigest } from '../../../src/commands/suppression.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';
import { receive } from '../support/received-mail.ts';

let service: DatabaseService;
let key: string;
let ownKey: string;
let otherKey: string;
let testKey: string;
let secondId: string;
const ids: Record<string, string> = {};
const ANSWERED = `msg_${'a'.repeat(26)}`;

beforeAll(async () => {
  service = await startDatabaseService();
  const { context } = service.deps;
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  secondId = await service.makeDomain(organizationId, 'second.test');
  key = (await service.makeKey(organizationId, domainId)).value;
  ownKey = (await service.makeKey(organizationId, domainId, { permissions: ['read'] })).value;
  testKey = (await service.makeKey(organizationId, domainId, { environment: 'test' })).value;
  const other = await service.makeOrganization();
  otherKey = (await service.makeKey(other, await service.makeDomain(other, 'other.test'))).value;
  const secret = await organizationSecret(context.secrets, organizationId);
  const receiveFor = (to: string, of: string, from: string, environment: 'live' | 'test' = 'live') =>
    receive(context, {
      ...{ organizationId, environment, domainId: of, to },
      facts: {
        toDigest: addressDigest(secret, to),
        fromDigests: [addressDigest(secret, from)],
        inReplyToMessageId: of === secondId ? ANSWERED : null,
      },
    });
  ids.first = await receiveFor('support@example.test', domainId, 'ann@example.net');
  ids.second = await receiveFor('sales@second.test', secondId, 'bob@example.net');
  ids.test = await receiveFor('support@example.test', domainId, 'ann@example.net', 'test');
});
afterAll(() => service.close());

const list = async (query = '', by = key) => {
  const answer = await service.request({ url: `/v1/inbound${query}`, key: by });
  return { status: answer.statusCode, body: answer.json() };
};
const idsIn = async (query = '', by = key): Promise<string[]> =>
  (await list(query, by)).body.data.map(({ id }: { readonly id: string }) => id);

describe('the list of inbound messages', () => {
  test('is newest first, without bodies, page by page', async () => {
    expect(await idsIn()).toEqual([ids.second, ids.first]);
    const { body } = await list('?limit=1');
    expect(body).toMatchObject({ has_more: true, data: [{ id: ids.second, subject: 'Re: Order 42' }] });
    expect(body.data[0]).not.toHaveProperty('text');
    expect(await idsIn(`?limit=1&after=${body.next_cursor}`)).toEqual([ids.first]);
  });

  test('is filtered by sender, recipient, domain and time', async () => {
    expect(await idsIn('?from=ANN@example.net')).toEqual([ids.first]);
    expect(await idsIn('?from=nobody@example.net')).toEqual([]);
    expect(await idsIn('?to=sales@second.test')).toEqual([ids.second]);
    expect(await idsIn(`?domain_id=${secondId}`)).toEqual([ids.second]);
    expect(await idsIn('?since=2100-01-01T00:00:00Z')).toEqual([]);
    expect(await idsIn('?until=2100-01-01T00:00:00Z')).toEqual([ids.second, ids.first]);
    expect(await idsIn('?to=sales@second.test&from=ann@example.net')).toEqual([]);
  });

  test('is filtered by the message that they answer', async () => {
    expect(await idsIn(`?in_reply_to_message_id=${ANSWERED}`)).toEqual([ids.second]);
    expect(await idsIn(`?in_reply_to_message_id=msg_${'b'.repeat(26)}`)).toEqual([]);
    expect(await idsIn(`?in_reply_to_message_id=${ANSWERED}`, otherKey)).toEqual([]);
    expect(await idsIn(`?in_reply_to_message_id=${ANSWERED}`, ownKey)).toEqual([]);
  });

  test('shows an organization, an environment and, for keys without manage, a domain', async () => {
    expect(await idsIn('', otherKey)).toEqual([]);
    expect(await idsIn('', testKey)).toEqual([ids.test]);
    expect(await idsIn('', ownKey)).toEqual([ids.first]);
    expect(await idsIn(`?domain_id=${secondId}`, ownKey)).toEqual([]);
  });

  test.each([
    ['from=x'],
    ['to=a%0D%0Ab@example.net'],
    ['subject=-'],
    ['since=x'],
    ['domain_id=x'],
    ['in_reply_to_message_id=x'],
    ['after=x'],
    ['q=x'],
  ])('with %s is refused', async (query) => {
    expect((await list(`?${query}`)).status).toBe(400);
  });
});
