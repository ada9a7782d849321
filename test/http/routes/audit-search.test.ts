import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addAuditor } from '../../../src/commands/auditor.ts';
import type { Caller } from '../../../src/domain/api-key/caller.ts';
import { EVENT_SCHEMAS } from '../../../src/domain/kernel/events.ts';
import { AUDIT_KINDS, actionOf, typesOfKind, typesWithWord } from '../../../src/http/resources/audit/actions.ts';
import { openAdminTenant } from '../support/admin-tenant.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';
import { operator } from '../support/service.ts';

interface Entry {
  readonly type: string;
  readonly action: string;
  readonly actor: { readonly type: string; readonly name: string | null };
  readonly subject: { readonly type: string; readonly id: string; readonly name: string | null } | null;
}

let service: DatabaseService;
let domainId: string;
let key: string;
let shopId: string;
let shopKey: string;
let bobId: string;
let messageId: string;

const ask = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, by = key, payload?: object) => {
  const answer = await service.request({ method, url, key: by, ...(payload === undefined ? {} : { payload }) });
  return { status: answer.statusCode, body: answer.statusCode === 204 ? null : answer.json() };
};

const find = async (query: Record<string, string>, by = key): Promise<readonly Entry[]> => {
  const { status, body } = await ask('GET', `/v1/audit/log?${new URLSearchParams(query)}`, by);
  expect([query, status]).toEqual([query, 200]);
  return body.data;
};
const types = async (query: Record<string, string>, by = key) => (await find(query, by)).map(({ type }) => type);

beforeAll(async () => {
  service = await startDatabaseService();
  ({ domainId, key } = await openAdminTenant(service, 'words.example'));
  const made = { name: 'Shop-Backend', domain_id: domainId, permissions: ['manage', 'send'] };
  ({
    body: { id: shopId, key: shopKey },
  } = await ask('POST', '/v1/api-keys', key, made));
  await ask('POST', `/v1/api-keys/${shopId}/rotate`, key, { grace_period_minutes: 0 });
  for (const [name, email] of [
    ['Bob Marsh', 'bob@people.example'],
    ['Ada', 'ada@people.example'],
  ]) {
    const { body } = await ask('POST', '/v1/members', key, { name, email, role: 'developer' });
    if (name === 'Bob Marsh') bobId = body.id;
  }
  await ask('PATCH', `/v1/members/${bobId}`, key, { role: 'analyst' });
  const mail = { from: 'a@words.example', to: 'b@example.org', subject: 'Hi', text: 'Hi' };
  messageId = (await ask('POST', '/v1/messages/send', key, mail)).body.id;
  await ask('GET', `/v1/messages/${messageId}/content`);
});
afterAll(() => service.close());

describe('the audit log is searched', () => {
  test('by words of what was done', async () => {
    expect(await types({ q: 'invited' })).toEqual(['MemberInvited', 'MemberInvited']);
    expect(await types({ q: 'Invited BOB' })).toEqual(['MemberInvited']);
    expect(await types({ q: 'rotated key' })).toEqual(['KeyRotated']);
    expect(await types({ q: 'keyrotated' })).toEqual(['KeyRotated']);
    expect(await types({ q: 'read contents' })).toEqual(['DataRead']);
    expect(await types({ q: 'captured' })).toEqual([]);
    expect(await types({ q: 'nothing-has-this-word' })).toEqual([]);
    expect(typesWithWord('passkey')).toEqual(['PasskeyAdded', 'PasskeyCounted', 'PasskeyRemoved']);
  });

  test('by person, whether they did it or it is about them', async () => {
    for (const person of ['bob', 'Marsh', 'bob@people.example', bobId])
      expect([person, (await types({ person })).toSorted()]).toEqual([
        person,
        ['MemberInvited', 'MemberRoleChanged', 'SignInLinkCreated'],
      ]);
    expect(await types({ person: 'somebody else' })).toEqual([]);
  });

  test('by the name of a key', async () => {
    for (const name of ['shop', 'Shop-Backend', 'backend', shopId])
      expect([name, await types({ key: name })]).toEqual([name, ['KeyRotated', 'KeyCreated']]);
    expect(await types({ q: 'shop-backend created' })).toEqual(['KeyCreated']);
    expect(await types({ key: '%' })).toEqual([]);
    expect(await types({ key: '_' })).toEqual([]);
  });

  test('by types, kinds and workers', async () => {
    expect(await types({ type: 'KeyRotated, MemberRoleChanged' })).toEqual(['MemberRoleChanged', 'KeyRotated']);
    expect(await find({ kind: 'reads' })).toMatchObject([
      { type: 'DataRead', action: 'read the contents of a message', subject: { type: 'message', id: messageId } },
    ]);
    expect(await types({ kind: 'mail', workers: 'exclude' })).toEqual(['MessageAccepted']);
    const actors = (await find({ workers: 'exclude', limit: '100' })).map(({ actor }) => actor.type);
    expect(actors.length).toBeGreaterThan(0);
    expect(actors).not.toContain('worker');
  });

  test('by client address, its network or its kind', async () => {
    const own = ['KeyRotated', 'KeyCreated'];
    for (const address of ['127.0.0.1', '127.0.0.0/8', 'loopback'])
      expect([address, await types({ address, key: 'shop' })]).toEqual([address, own]);
    for (const address of ['192.0.2.1', '10.0.0.0/8', '2001:db8::/32', 'public', 'private'])
      expect([address, await types({ address })]).toEqual([address, []]);
  });

  test('by period, also in the past and the future', async () => {
    expect(await types({ q: 'invited', until: '2020-01-01' })).toEqual([]);
    expect(await types({ q: 'invited', since: '2999-01-01' })).toEqual([]);
    expect(await types({ q: 'invited', since: '2020-01-01', until: '2999-01-01' })).toHaveLength(2);
  });

  test('and names a new key although the list of keys is behind', async () => {
    const database = new Client({ connectionString: service.url });
    await database.connect();
    await database.query('begin; lock table read_models.api_keys in share mode');
    const made = { name: 'Newest', domain_id: domainId, permissions: ['send'] };
    const { body } = await ask('POST', '/v1/api-keys', key, made);
    const newest = [find({ limit: '1' }), find({ key: 'newest' })];
    // A search that did not wait for the list would be answered before these three.
    for (let turn = 0; turn < 3; turn += 1) await find({ type: 'TopicCreated' });
    await database.end();
    for (const [entry] of await Promise.all(newest)) {
      expect(entry).toMatchObject({ type: 'KeyCreated', subject: { id: body.id, name: 'Newest' } });
    }
  });

  test('and names the actor and the subject', async () => {
    expect(await find({ q: 'invited bob' })).toMatchObject([
      { action: 'invited a member', actor: { type: 'key' }, subject: { type: 'member', id: bobId, name: 'Bob Marsh' } },
    ]);
    const [rotated] = await find({ type: 'KeyRotated' });
    expect(rotated?.subject).toEqual({ type: 'api_key', id: shopId, name: 'Shop-Backend' });
    expect(rotated?.actor.name).not.toBeNull();
  });

  test('by an auditor who sees no mail, but not without the permission', async () => {
    const auditor = { name: 'Ann', expires_at: '2099-01-01T00:00:00Z' };
    const { token } = (await ask('POST', '/v1/audit/auditors', key, auditor)).body;
    expect(await types({ q: 'invited bob', address: 'loopback' }, token)).toEqual(['MemberInvited']);
    expect(await find({ type: 'AuditorAdded' }, token)).toMatchObject([{ subject: { type: 'auditor', name: 'Ann' } }]);
    expect((await ask('GET', '/v1/audit/log?q=invited', shopKey)).status).toBe(401);
    const { body } = await ask('POST', '/v1/api-keys', key, {
      ...{ name: 'Reads', domain_id: domainId, permissions: ['read'] },
    });
    expect((await ask('GET', '/v1/audit/log?q=invited', body.key)).status).toBe(403);
  });

  test('by the name of an auditor, also after the auditor is removed', async () => {
    const auditor = { name: 'Grace Hopper', email: 'grace@audits.example', contents: true };
    const asked = { ...auditor, expires_at: '2099-01-01T00:00:00Z' };
    const { id, token } = (await ask('POST', '/v1/audit/auditors', key, asked)).body;
    expect((await ask('GET', `/v1/audit/reports/messages/${messageId}`, token)).status).toBe(200);
    const own = ['DataRead', 'AuditorAdded'];
    for (const person of ['grace', 'HOPPER', 'grace@audits.example', id])
      expect([person, await types({ person })]).toEqual([person, own]);
    expect(await types({ q: 'added hopper' })).toEqual(['AuditorAdded']);
    expect((await ask('DELETE', `/v1/audit/auditors/${id}`)).status).toBe(204);
    expect(await types({ person: id })).toEqual(['AuditorRemoved', ...own]);
    expect(await types({ person: 'hopper' })).toEqual(['AuditorRemoved', ...own]);
    const stranger = await openAdminTenant(service, 'stranger-auditor.example');
    expect(await types({ person: 'hopper' }, stranger.key)).toEqual([]);
    expect(await types({ person: id }, stranger.key)).toEqual([]);
  });

  test('finds nothing of another organization', async () => {
    const stranger = await openAdminTenant(service, 'stranger-words.example');
    for (const query of [
      ...[{ q: 'invited' }, { q: 'bob' }, { person: 'bob' }, { person: bobId }, { key: 'shop' }, { key: shopId }],
      ...[{ address: 'loopback', type: 'MemberInvited' }, { kind: 'reads' }],
    ])
      expect([query, await types(query as Record<string, string>, stranger.key)]).toEqual([query, []]);
  });
});

test('an auditor is found by name behind more than 500 newer ones', async () => {
  const tenant = await openAdminTenant(service, 'many-auditors.example');
  const asked = { name: 'Mary Somerville', expires_at: '2099-01-01T00:00:00Z' };
  const { id } = (await ask('POST', '/v1/audit/auditors', tenant.key, asked)).body;
  const { context } = service.deps;
  const { organizationId } = tenant;
  const bounds = { allowedCidrs: [], expiresAt: null, rateLimits: {} };
  const auditor = {
    ...{ name: 'Somebody', email: null, contents: false, expiresAt: asked.expires_at },
    by: { bounds, permissions: ['admin'] } as unknown as Caller, // the rest is not read
    loadKeyCache: async () => ({ auditors: new Map() }) as never, // as if each were removed before the next is added
  };
  for (let added = 0; added < 510; added += 10)
    await Promise.all(Array.from({ length: 10 }, () => addAuditor(context, operator(organizationId), auditor)));
  expect(await types({ person: 'somerville' }, tenant.key)).toEqual(['AuditorAdded']);
  expect((await find({ person: 'somerville' }, tenant.key))[0]?.subject?.id).toBe(id);
});

test('entries are found in full bundles, among many of others', async () => {
  const messages = Array.from({ length: 100 }, () => ({
    ...{ from: 'a@words.example', to: 'b@example.org', subject: 'Hi', text: 'Hi' },
  }));
  for (let round = 0; round < 4; round += 1)
    expect((await ask('POST', '/v1/messages/batch', key, { messages })).status).toBe(202);
  const past = new Date(Date.now() + 60_000).toISOString();
  for (const query of [
    { q: 'invited bob' },
    { q: 'invited bob', until: past },
    { person: 'bob', type: 'MemberInvited' },
  ])
    expect([query, await types(query as Record<string, string>)]).toEqual([query, ['MemberInvited']]);
  expect(await types({ key: 'shop-b', address: 'loopback' })).toEqual(['KeyRotated', 'KeyCreated']);
  expect(await types({ kind: 'reads', person: 'hopper' })).toEqual(['DataRead']);
  expect(await types({ q: 'invited', until: '2020-01-01' })).toEqual([]);
});

test.each([
  ['q', ' '],
  ['q', 'a b c d e f g'],
  ['q', 'x'.repeat(10_000)],
  ['q', 'a\0b'],
  ['q', 'a\r\nb'],
  ['person', ''],
  ['person', 'a\0b'],
  ['person', 'x'.repeat(10_000)],
  ['key', 'a\0b'],
  ['key', 'x'.repeat(10_000)],
  ['type', 'a\0b'],
  ['type', ','.repeat(60)],
  ['type', 'Nope'],
  ['type', 'KeyRotated,'],
  ['type', '__proto__'],
  ['type', 'KeyRotated,'.repeat(5_000)],
  ['kind', 'everything'],
  ['workers', 'yes'],
  ['address', 'somewhere'],
  ['address', '300.1.1.1'],
  ['address', 'a\0b'],
  ['address', '10.0.0.0/99'],
])('the parameter %s refuses what cannot be one (%#)', async (name, value) => {
  const { status, body } = await ask('GET', `/v1/audit/log?${new URLSearchParams({ [name]: value })}`);
  expect([status, Object.keys(body.error.details)]).toEqual([400, [name]]);
});

test('an unknown type is refused with the nearest one', async () => {
  for (const [type, hint] of [
    ['KeyRotated, KeyRevokd', '"KeyRevokd" is not one: did you mean KeyRevoked?'],
    ['Nope', '"Nope" is not one: use those in the field type of the entries'],
  ]) {
    const { body } = await ask('GET', `/v1/audit/log?${new URLSearchParams({ type: String(type) })}`);
    expect(body.error.details.type).toEqual([`type must name event types: ${hint}`]);
  }
});

test('one parameter cannot be given twice', async () => {
  for (const query of ['q=a&q=b', 'person=a&person=b', 'address=::1&address=::2'])
    expect((await ask('GET', `/v1/audit/log?${query}`)).status).toBe(400);
});

test('every event has words and one kind', () => {
  const all = AUDIT_KINDS.flatMap(typesOfKind);
  expect(all.toSorted()).toEqual(Object.keys(EVENT_SCHEMAS).toSorted());
  for (const type of all) expect(actionOf({ type, data: {} })).toMatch(/^[a-z][\w -]+$/i);
});
