import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { readWholeStream } from '../../../src/commands/execute.ts';
import { formatSecret } from '../../../src/domain/api-key/secret.ts';
import { formatId } from '../../../src/domain/kernel/ids.ts';
import { auditorStream } from '../../../src/domain/kernel/streams.ts';
import { buildServer } from '../../../src/http/server.ts';
import { authenticateKey } from '../../../src/submission/submit-message.ts';
import { openAdminTenant } from '../support/admin-tenant.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';
import { GUARDED } from '../support/walk-routes.ts';

const HOUR_MS = 3_600_000;
const LATER = '2099-12-31T23:59:59.000Z';
const NEW_KEY = { name: 'Shop', environment: 'live', permissions: ['send'] };
const AUDITOR = { name: 'Ann of Auditors', email: 'ann@auditors.example', expires_at: LATER };

let service: DatabaseService;
let organizationId: string;
let domainId: string;
let key: string;
let other: string;
/** The token of an auditor who may see contents. */
let refused: string | undefined;
let shiftMs = 0;
const real = createSystem();

beforeAll(async () => {
  service = await startDatabaseService({ system: { ...real, now: () => new Date(real.now().getTime() + shiftMs) } });
  ({ organizationId, domainId, key } = await openAdminTenant(service, 'auditors.test'));
  other = (await openAdminTenant(service, 'stranger.test')).key;
});
afterAll(() => service.close());

const ask = async (method: 'GET' | 'POST' | 'DELETE', url: string, by = key, more: object = {}) => {
  const answer = await service.request({ method, url, key: by, ...more });
  const body = answer.body.startsWith('{"') ? JSON.parse(answer.body.split('\n')[0] ?? '') : null;
  return { status: answer.statusCode, body, code: body?.error?.code, headers: answer.headers };
};
const add = async (more: object = {}, by = key) =>
  ask('POST', '/v1/audit/auditors', by, { payload: { ...AUDITOR, ...more } });
const open = async (token: string) => (await ask('GET', '/v1/audit/log', token)).status;
/** Waits up to a second for the rejection, longer on a busy machine. */
const isRefused = async (token: string): Promise<void> => {
  await expect.poll(() => open(token), { timeout: 10_000 }).toBe(401);
};

describe('an auditor', () => {
  test('gets a token that is shown once and is not stored', async () => {
    const added = await add();
    const { id, token } = added.body;
    expect([added.status, added.headers['cache-control'], added.headers.location]).toEqual([
      201,
      'no-store',
      `/v1/audit/auditors/${id}`,
    ]);
    expect(token).toMatch(/^ob_audit_[0-9A-Za-z]{49}$/);
    const shown = {
      object: 'auditor',
      ...{ id, name: AUDITOR.name, email: AUDITOR.email, contents: false, status: 'active', expires_at: LATER },
      token_last4: token.slice(-4),
    };
    const read = await ask('GET', `/v1/audit/auditors/${id}`);
    expect([read.body, read.headers.etag]).toEqual([{ ...shown, created_at: expect.any(String) }, '"0"']);
    expect((await ask('GET', '/v1/audit/auditors')).body.data).toContainEqual(read.body);
    const events = await readWholeStream(service.deps.context.store, auditorStream(id));
    const log = JSON.stringify(events);
    for (const secret of [token, AUDITOR.name, AUDITOR.email]) expect(log).not.toContain(secret);
  });

  test('reads the audit endpoints', async () => {
    const { token } = (await add({ contents: true })).body;
    await ask('POST', '/v1/audit/checkpoints', key, { payload: {} });
    for (const path of ['log', 'checkpoints', 'consistency?from=1', 'export'])
      expect([path, (await ask('GET', `/v1/audit/${path}`, token)).status]).toEqual([path, 200]);
    const allowed = GUARDED.filter(({ rule }) => rule.auditors === true);
    expect(allowed.every(({ method }) => method === 'GET')).toBe(true);
  });

  test.each([
    ['masked', false],
    ['whole', true],
  ])('lists the resources that the log is about, with addresses %s', async (_, contents) => {
    const { id, token } = (await add({ contents })).body;
    const mail = { from: 'a@auditors.test', to: 'bob@example.org', subject: 'Hello', text: 'Hello' };
    const sent = (await ask('POST', '/v1/messages/send', key, { payload: mail })).body;
    for (const list of [
      'messages',
      'api-keys',
      'domains',
      'webhooks',
      'templates',
      'suppressions',
      'members',
      'erasures',
      'audit/auditors',
    ])
      expect([list, (await ask('GET', `/v1/${list}`, token)).status]).toEqual([list, 200]);
    const shown = JSON.stringify((await ask('GET', `/v1/messages/${sent.id}`, token)).body);
    expect([shown.includes('bob@example.org'), shown.includes('Hello')]).toEqual([contents, contents]);
    const search = await ask('GET', '/v1/messages?to=bob@example.org', token);
    expect(search.status).toBe(contents ? 200 : 403);
    const read = await ask('GET', `/v1/audit/log?type=DataRead&actor=auditor:${id}`);
    // Masked addresses are not read.
    expect(JSON.stringify(read.body).includes('GET /v1/messages/:id')).toBe(contents);
  });

  test('sees resources as they were', async () => {
    const { token } = (await add()).body;
    const created = (await ask('POST', '/v1/api-keys', key, { payload: { ...NEW_KEY, domain_id: domainId } })).body;
    const stranger = (await ask('GET', '/v1/api-keys', other)).body.data[0];
    const before = new Date(real.now().getTime() + shiftMs).toISOString();
    shiftMs += 1000;
    await ask('POST', `/v1/api-keys/${created.id}/revoke`, key, { payload: {} });
    const then = await ask('GET', `/v1/api-keys/${created.id}?at=${before}`, token);
    const now = await ask('GET', `/v1/api-keys/${created.id}`, token);
    expect([then.body.status, now.body.status]).toEqual(['active', 'revoked']);
    expect((await ask('GET', `/v1/api-keys/${stranger.id}`, token)).code).toBe('other_organization');
  });

  test.each(GUARDED.filter(({ rule }) => rule.auditors !== true))('is refused $name', async ({ method, url }) => {
    refused ??= (await add({ contents: true })).body.token;
    const payload = method === 'GET' || method === 'DELETE' ? {} : { payload: {} };
    const { status, code } = await ask(method as 'GET', url.replace(/:\w+/g, 'x'), refused, payload);
    expect([status, code]).toEqual([403, 'permission_missing']);
  });

  test('is refused by SMTP', async () => {
    const { token } = (await add()).body;
    const { auth } = service.server.shared;
    await expect(authenticateKey(auth, token, '127.0.0.1')).rejects.toMatchObject({ code: 'permission_missing' });
  });

  test('is on record as the one who exported', async () => {
    const { id, token } = (await add()).body;
    await ask('GET', '/v1/audit/export', token);
    const { body } = await ask('GET', `/v1/audit/log?type=AuditExported&actor=auditor:${id}`, token);
    expect(body.data).toMatchObject([{ actor: { type: 'auditor', id, secret: null } }]);
  });

  test('sees only their own organization', async () => {
    const { token } = (await add({}, other)).body;
    const { body } = await ask('GET', '/v1/audit/log?order=asc&limit=100', token);
    expect(JSON.stringify(body)).not.toContain(organizationId);
    const { id } = (await add()).body;
    for (const method of ['GET', 'DELETE'] as const)
      expect((await ask(method, `/v1/audit/auditors/${id}`, other)).code).toBe('other_organization');
    expect((await ask('GET', '/v1/audit/auditors', other)).body.data).toHaveLength(1);
  });

  test('reads reports about keys, and with contents about messages, of every domain of the organization', async () => {
    const tokens = [(await add()).body.token, (await add({ contents: true })).body.token];
    const mail = { from: 'a@auditors.test', to: 'ann@example.org', subject: 'Hello', text: 'Hello' };
    const { id } = (await ask('POST', '/v1/messages/send', key, { payload: mail })).body;
    const keyId = (await ask('GET', '/v1/api-keys')).body.data[0].id;
    for (const token of tokens) {
      const { body } = await ask('GET', `/v1/audit/reports/api-keys/${keyId}`, token);
      expect(body.facts).toContainEqual({ name: 'Key', value: keyId });
    }
    const [without = '', withContents = ''] = tokens;
    const refusal = await ask('GET', `/v1/audit/reports/messages/${id}`, without);
    expect([refusal.status, refusal.body.error.message]).toEqual([403, 'this auditor may not see mail contents']);
    const { body } = await ask('GET', `/v1/audit/reports/messages/${id}`, withContents);
    expect(body.facts).toContainEqual({ name: 'Subject', value: 'Hello' });
    const theirs = (await add({ contents: true }, other)).body.token;
    for (const url of [`api-keys/${keyId}`, `messages/${id}`])
      expect((await ask('GET', `/v1/audit/reports/${url}`, theirs)).code).toBe('other_organization');
  });

  test('is accepted by a process that starts later', async () => {
    const { token } = (await add()).body;
    const server = await buildServer(service.deps);
    await server.ready();
    const answer = await server.inject({ url: '/v1/audit/log', headers: { authorization: `Bearer ${token}` } });
    expect(answer.statusCode).toBe(200);
    await server.close();
  });
});

describe('a token', () => {
  test('ends permanently with the removal of its auditor', async () => {
    const { id, token } = (await add()).body;
    expect(await open(token)).toBe(200);
    const stale = await ask('DELETE', `/v1/audit/auditors/${id}`, key, { headers: { 'if-match': '"7"' } });
    expect(stale.code).toBe('precondition_failed');
    expect((await ask('DELETE', `/v1/audit/auditors/${id}`)).status).toBe(204);
    await isRefused(token);
    for (const method of ['GET', 'DELETE'] as const)
      expect((await ask(method, `/v1/audit/auditors/${id}`)).code).toBe('not_found');
    const { body } = await ask('GET', '/v1/audit/auditors');
    expect(body.data.map((one: { id: string }) => one.id)).not.toContain(id);
  });

  test('ends at its expiry', async () => {
    const expires_at = new Date(Date.now() + HOUR_MS).toISOString();
    const { id, token } = (await add({ expires_at })).body;
    shiftMs = 2 * HOUR_MS;
    await isRefused(token);
    expect((await ask('GET', `/v1/audit/auditors/${id}`)).body.status).toBe('expired');
    shiftMs = 0;
  });

  test('has one form: no other value is accepted', async () => {
    const { token } = (await add()).body;
    const flipped = `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`;
    const never = formatSecret('audit', new Uint8Array(32).fill(3));
    for (const value of [flipped, never, token.replace('audit', 'live'), token.toLowerCase(), `${token}0`])
      expect([value, await open(value)]).toEqual([value, 401]);
  });

  test('reaches no further than the key that made it', async () => {
    const bounded = {
      permissions: ['admin' as const],
      allowedCidrs: ['192.0.2.0/24'],
      expiresAt: '2090-01-01T00:00:00.000Z',
    };
    const { value } = await service.makeKey(organizationId, domainId, bounded);
    const from = (remoteAddress: string, expires_at: string) =>
      ask('POST', '/v1/audit/auditors', value, { remoteAddress, payload: { ...AUDITOR, expires_at } });
    const wider = await from('192.0.2.1', LATER);
    expect([wider.status, wider.code, Object.keys(wider.body.error.details)]).toEqual([
      403,
      'wider_than_own_key',
      ['expires_at'],
    ]);
    const { token } = (await from('192.0.2.1', '2089-01-01T00:00:00Z')).body;
    const reads = async (remoteAddress: string) =>
      (await ask('GET', '/v1/audit/log', token, { remoteAddress })).code ?? 'read';
    expect([await reads('192.0.2.7'), await reads('198.51.100.1')]).toEqual(['read', 'address_not_allowed']);
  });
});

describe('adding an auditor', () => {
  test.each([
    ['name', undefined],
    ['name', ''],
    ['name', 'Ann\r\nBcc: x@example.net'],
    ['name', 'a\u0000b'],
    ['name', 'a'.repeat(101)],
    ['name', ['Ann']],
    ['email', 'nobody'],
    ['email', 'a@example.net\r\nBcc: b@example.net'],
    ['email', 'a@example.net, b@example.net'],
    ['email', 7],
    ['expires_at', undefined],
    ['expires_at', null],
    ['expires_at', '2020-01-01T00:00:00Z'],
    ['expires_at', 'tomorrow'],
    ['contents', 'yes'],
    ['token', 'ob_audit_mine'],
  ])('is refused with %s %j', async (field, value) => {
    const { status, body } = await add({ [field]: value });
    expect([status, Object.keys(body.error.details)]).toEqual([400, [field]]);
  });

  test('is refused with a body of 10 MB', async () => {
    expect((await add({ name: 'a'.repeat(10_000_000) })).code).toBe('body_too_large');
  });

  test('requires a live key with admin', async () => {
    const manager = await service.makeKey(organizationId, domainId, { permissions: ['manage', 'read', 'send'] });
    const simulated = await service.makeKey(organizationId, domainId, { environment: 'test' });
    expect((await add({}, manager.value)).code).toBe('permission_missing');
    expect((await add({}, simulated.value)).code).toBe('environment_not_allowed');
    for (const id of ['x', '%00', '..%2f', formatId('aud', new Uint8Array(16)), formatId('key', new Uint8Array(16))])
      expect([id, (await ask('GET', `/v1/audit/auditors/${id}`)).status]).toEqual([id, 404]);
  });
});
