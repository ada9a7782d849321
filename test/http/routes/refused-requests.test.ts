import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPostgresRetention } from '../../../src/adapters/retention/postgres.ts';
import { digestOfAddress } from '../../../src/commands/erasure.ts';
import { deleteOldRows } from '../../../src/workers/retention/expire-contents.ts';
import type { AnyBody } from '../../support/api-client.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';
import { cookieOf, SAME_ORIGIN, signInWith } from '../support/sign-in.ts';

const MESSAGE = { from: 'shop@example.test', to: 'ann@example.org', subject: 'Your bill', text: 'Hello Ann' };
const DAY_MS = 86_400_000;
const REQUEST_ID = /^req_[0-9a-f]{32}$/;

let service: DatabaseService;
let db: Client;
let organizationId: string;
let domainId: string;
let admin: { id: string; value: string };
let other: string;

beforeAll(async () => {
  service = await startDatabaseService();
  db = new Client({ connectionString: service.url });
  await db.connect();
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  admin = await service.makeKey(organizationId, domainId);
  const others = await service.makeOrganization();
  other = (await service.makeKey(others, await service.makeDomain(others, 'other.test'))).value;
});
afterAll(async () => {
  await db.end();
  await service.close();
});

const ask = async (url: string, key = admin.value, payload?: object | string, headers: Record<string, string> = {}) => {
  const how =
    payload === undefined
      ? { method: 'GET' as const }
      : { method: 'POST' as const, payload, headers: { 'content-type': 'application/json', ...headers } };
  const answer = await service.request({ url, key, headers, ...how });
  const body: AnyBody = answer.body === '' ? null : answer.json();
  return { status: answer.statusCode, id: String(answer.headers['x-request-id']), body };
};
const read = async (id: string, key = admin.value): Promise<AnyBody> => (await ask(`/v1/requests/${id}`, key)).body;
const list = async (query = '', key = admin.value): Promise<readonly AnyBody[]> =>
  (await ask(`/v1/requests?limit=100${query}`, key)).body.data;

describe('a refused request', () => {
  test('is not shown if the dashboard answers it itself', async () => {
    const { body } = await ask('/v1/templates', admin.value, {
      alias: 'bill',
      name: 'Bill',
      subject: 'Bill',
      html: '<p>Bill</p>',
    });
    const invited = await ask('/v1/members', admin.value, {
      email: 'eva@example.test',
      name: 'Eva',
      role: 'developer',
    });
    const cookie = cookieOf(await signInWith(service, invited.body.link.url));
    const preview = { version: 99 };
    const url = `/v1/templates/${body.id}/render`;
    const byMember = await service.request({
      method: 'POST',
      url,
      headers: { cookie, ...SAME_ORIGIN },
      payload: preview,
    });
    expect(byMember.statusCode).toBeGreaterThanOrEqual(400);
    expect((await read(String(byMember.headers['x-request-id']))).error.code).toBe('not_found');
    const page = await service.request({ url: `/v1/templates/${body.id}/preview?version=99`, headers: { cookie } });
    expect(page.statusCode).toBeGreaterThanOrEqual(400);
    expect((await read(String(page.headers['x-request-id']))).error.code).toBe('not_found');
    const stale = { 'if-match': '"stale"' };
    const change = { method: 'PATCH', url: `/v1/templates/${body.id}`, payload: { subject: 'Mine' } } as const;
    const conflict = await service.request({ ...change, headers: { cookie, ...SAME_ORIGIN, ...stale } });
    expect(conflict.json().error.code).toBe('precondition_failed');
    expect((await read(String(conflict.headers['x-request-id']))).error.code).toBe('not_found');
    const ofKey = await service.request({ ...change, key: admin.value, headers: stale });
    expect(await read(String(ofKey.headers['x-request-id']))).toMatchObject({ code: 'precondition_failed' });
    const byKey = await ask(url, admin.value, preview);
    expect(await read(byKey.id)).toMatchObject({ route: '/v1/templates/:id/render' });
  });

  test('is shown with its error message, its place in the body, and no address', async () => {
    const sent = JSON.stringify({ ...MESSAGE, to: ['ann@example.org', 'bob at example.org'], nothing: 1 }, null, 2);
    const refused = await ask('/v1/messages/send?page=1', admin.value, sent, { 'user-agent': 'curl ann@example.org' });
    const shown = await read(refused.id);
    expect(shown).toMatchObject({
      id: refused.id,
      object: 'refused_request',
      key_id: admin.id,
      member_id: null,
      method: 'POST',
      route: '/v1/messages/send',
      path: '/v1/messages/send',
      status: 400,
      code: 'invalid_request',
      client_address: '127.0.0.1',
      user_agent: 'curl ***',
      count: 1,
      body: { formatted: false, cut: false },
    });
    const [to, unknown, query] = ['to', 'nothing', 'page'].map((field) =>
      shown.problems.find((problem: AnyBody) => problem.field === field),
    );
    expect(to).toMatchObject({ pointer: '/to/1', line: 5, column: 5 });
    expect(unknown).toMatchObject({
      pointer: '/nothing',
      line: 9,
      column: 3,
      sentence: 'nothing is not a known field',
    });
    expect(query).toMatchObject({ pointer: null, line: null, column: null, start: null });
    expect(shown.body.text.slice(to.start, to.end)).toBe('"*** (18 characters)"');
    expect(shown.body.text.slice(unknown.start, unknown.end)).toBe('"nothing"');
    expect(JSON.stringify(shown)).not.toMatch(/ann@|bob at|Your bill|Hello/);
    expect(await list(`&code=invalid_request&key_id=${admin.id}&path=/v1/messages/send`)).toContainEqual(
      expect.objectContaining({ id: refused.id }),
    );
  });

  test('that is not JSON says where it stops being JSON', async () => {
    const { id } = await ask('/v1/messages/send', admin.value, '{\n "to": "ann@example.org"\n "subject": "Hi"}');
    const { problems, body, code } = await read(id);
    expect(code).toBe('invalid_json');
    expect(problems).toMatchObject([
      { field: 'body', line: 3, column: 2, sentence: expect.stringContaining('a comma') },
    ]);
    expect(body.text).toBe('{\n "to": "***@example.org"\n …');
  });

  test('is kept for any reason, but only if a known caller sent it', async () => {
    const confined = await service.makeKey(organizationId, domainId, { allowedCidrs: ['192.0.2.0/24'] });
    const reader = await service.makeKey(organizationId, domainId, { permissions: ['read'] });
    const before = (await list()).length;
    const refused = [
      await ask('/v1/messages', confined.value),
      await ask('/v1/api-keys', reader.value, {}),
      await ask('/v1/messages/msg_aaaaaaaaaaaaaaaaaaaaaaaaaa'),
      await ask('/v1/ann@example.org/nothing'),
      await ask('/v1/messages/cancel'),
      await ask('/v1/messages/send', admin.value, '{}', { 'content-type': 'text/plain' }),
      await ask('/v1/messages/send', admin.value, { ...MESSAGE, from: 'a@elsewhere.test' }),
      await ask('/v1/webhooks', admin.value, `"${'a'.repeat(70_000)}"`),
    ];
    const kept = (await list()).slice(0, -before || undefined);
    expect(kept.map(({ id }) => id).toSorted()).toEqual(refused.map(({ id }) => id).toSorted());
    expect(kept.map(({ code, status }) => [status, code]).toSorted()).toEqual([
      [403, 'address_not_allowed'],
      [403, 'from_domain_mismatch'],
      [403, 'permission_missing'],
      [404, 'not_found'],
      [404, 'not_found'],
      [405, 'method_not_allowed'],
      [413, 'body_too_large'],
      [415, 'unsupported_media_type'],
    ]);
    expect(kept.map(({ path }) => path)).toContain('/v1/***/nothing');
    const unknown = await ask('/v1/messages', `ob_live_${'a'.repeat(49)}`);
    await ask('/v1/messages', '');
    const { status } = await ask('/v1/requests?limit=1');
    expect([unknown.status, status]).toEqual([401, 200]);
    expect((await list()).length).toBe(before + refused.length);
  });

  test('is shown only to its own organization, environment and domain, and its body to those who see contents', async () => {
    const { id } = await ask('/v1/messages/send', admin.value, { to: 'x' });
    const testKey = await service.makeKey(organizationId, domainId, { environment: 'test' });
    const neighbour = await service.makeKey(organizationId, await service.makeDomain(organizationId, 'next.test'), {
      permissions: ['read'],
    });
    const reader = await service.makeKey(organizationId, domainId, { permissions: ['read'] });
    for (const key of [other, testKey.value, neighbour.value]) {
      expect(await ask(`/v1/requests/${id}`, key)).toMatchObject({
        status: 404,
        body: { error: { code: 'not_found' } },
      });
      expect((await list('', key)).map((one) => one.id)).not.toContain(id);
      expect((await ask('/v1/requests/counts', key)).body.principals.map((one: AnyBody) => one.key_id)).not.toContain(
        admin.id,
      );
    }
    expect(await read(id, reader.value)).toMatchObject({
      id,
      client_address: null,
      body: { text: '{\n  "to": "*** (1 character)"\n}' },
    });
    const invited = await ask('/v1/members', admin.value, { email: 'ana@example.test', name: 'Ana', role: 'analyst' });
    const cookie = cookieOf(await signInWith(service, invited.body.link.url));
    const answer = await service.request({ url: `/v1/requests/${id}`, headers: { cookie } });
    expect(answer.json()).toMatchObject({ id, body: null, problems: expect.any(Array) });
    const bySession = await service.request({ url: '/v1/requests?code=nothing&limit=0', headers: { cookie } });
    expect(bySession.statusCode).toBe(400);
    expect(await list(`&member_id=${invited.body.id}`)).toMatchObject([{ key_id: null, member_id: invited.body.id }]);
  });

  test('is listed in pages, filtered and counted', async () => {
    const { id: keyId, value } = await service.makeKey(organizationId, domainId);
    for (const url of ['/v1/domains/x', '/v1/domains/y', '/v1/topics/x']) await ask(url, value);
    await ask('/v1/messages/send', value, {});
    const mine = `key_id=${keyId}`;
    const first = (await ask(`/v1/requests?${mine}&limit=3`)).body;
    const rest = (await ask(`/v1/requests?${mine}&limit=3&after=${first.next_cursor}`)).body;
    expect([...first.data, ...rest.data].map(({ route }) => route)).toEqual([
      '/v1/messages/send',
      '/v1/topics/:id',
      '/v1/domains/:id',
      '/v1/domains/:id',
    ]);
    expect(rest).toMatchObject({ has_more: false, next_cursor: null });
    expect(await list(`&${mine}&status=404&path=/v1/domains/:id`)).toHaveLength(2);
    expect(await list(`&${mine}&since=2100-01-01`)).toEqual([]);
    expect(await list(`&${mine}&until=2000-01-01`)).toEqual([]);
    expect(await list(`&${mine}&member_id=mbr_${'x'.repeat(26)}`)).toEqual([]);
    expect((await ask(`/v1/requests/counts?${mine}`)).body).toEqual({
      object: 'refused_request_counts',
      total: 4,
      codes: [
        { code: 'not_found', status: 404, count: 3 },
        { code: 'invalid_request', status: 400, count: 1 },
      ],
      principals: [{ key_id: keyId, member_id: null, auditor_id: null, count: 4 }],
    });
  });

  test.each([
    ['?after=x', 'invalid_cursor'],
    ['?status=200', 'invalid_request'],
    ['?code=a%00b', 'invalid_request'],
    [`?path=${'a'.repeat(201)}`, 'invalid_request'],
    ['?key_id=a%0d%0ab', 'invalid_request'],
    ['?to=ann@example.org', 'invalid_request'],
    ['/req_x', 'not_found'],
    [`/req_${'0'.repeat(32)}`, 'not_found'],
    ['/%00', 'not_found'],
  ])('requested by %s is refused as %s', async (query, code) => {
    expect((await ask(`/v1/requests${query}`)).body.error.code).toBe(code);
  });

  test('is one row of many when a flood of them arrives', async () => {
    const { id: keyId, value } = await service.makeKey(organizationId, domainId, {
      rateLimits: { send: 1, read: 1_000_000, manage: 1_000_000 },
    });
    const sends = 30;
    for (let index = 0; index < sends; index += 1) await ask('/v1/messages/send', value, MESSAGE);
    const [limited, ...more] = await list(`&key_id=${keyId}`);
    expect(more).toEqual([]);
    expect(limited).toMatchObject({
      status: 429,
      code: 'rate_limit_exceeded',
      count: sends - 1,
      id: expect.stringMatching(REQUEST_ID),
    });
    for (let index = 0; index < 60; index += 1) await ask('/v1/topics/x', value);
    const missing = await list(`&key_id=${keyId}&code=not_found`);
    expect(missing.reduce((sum, { count }) => sum + count, 0)).toBe(60);
    expect(missing.length).toBeLessThan(60);
  });

  test('is deleted after a week, and together with a person whose address it had', async () => {
    const stored = async (text: string) =>
      Number(
        (await db.query('select count(*) from vault.refused_requests r where r::text like $1', [`%${text}%`])).rows[0]
          .count,
      );
    const { id } = await ask('/v1/messages/send', other, { ...MESSAGE, to: ['Eve <EVE@erased.example>'], nothing: 1 });
    const { id: old } = await ask('/v1/messages/send', other, { to: 'someone@kept.example' });
    expect(await read(id, other)).toMatchObject({ body: { text: expect.stringContaining('***@erased.example') } });
    expect([await stored('erased.example'), await stored('EVE@'), await stored('eve@')]).toEqual([1, 0, 0]);
    const pool = { query: (...of: Parameters<Client['query']>) => db.query(...of) } as never;
    const retention = createPostgresRetention({ pool });
    const { rows } = await db.query('select organization_id as of from vault.refused_requests where id = $1', [id]);
    const digest = await digestOfAddress(service.deps.context, rows[0].of, 'eve@erased.example');
    expect(await retention.eraseRefusedRequests({ organizationId, digest })).toBe(0);
    expect(await retention.eraseRefusedRequests({ organizationId: rows[0].of, digest })).toBe(1);
    expect(await stored('erased.example')).toBe(0);
    await db.query('update vault.refused_requests set at = $2 where id = $1', [
      old,
      new Date(Date.now() - 7.1 * DAY_MS),
    ]);
    await deleteOldRows({ ...service.deps.context, retention }, new AbortController().signal);
    expect(await stored('kept.example')).toBe(0);
  });
});
