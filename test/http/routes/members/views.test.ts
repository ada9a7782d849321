import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPostgresRetention } from '../../../../src/adapters/retention/postgres.ts';
import { digestOfAddress } from '../../../../src/commands/erasure.ts';
import { openAdminTenant } from '../../support/admin-tenant.ts';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';
import { cookieOf, SAME_ORIGIN, signInWith } from '../../support/sign-in.ts';

let service: DatabaseService;
let pool: pg.Pool;
let tenant: Awaited<ReturnType<typeof openAdminTenant>>;

interface Person {
  readonly id: string;
  readonly cookie: string;
}

const join = async (key: string, role: string): Promise<Person> => {
  const payload = { email: `${role}@people.example`, name: role, role };
  const { id, link } = (await service.request({ method: 'POST', url: '/v1/members', key, payload })).json();
  return { id, cookie: cookieOf(await signInWith(service, link.url)) };
};

let ann: Person;

const PATH = '/v1/session/views';
const BOUNCES = { name: 'Bounces', path: '/messages', query: 'status=bounced&period=3d' };

const list = async ({ cookie }: Person) => (await service.request({ url: PATH, headers: { cookie } })).json().data;
const save = ({ cookie }: Person, payload: unknown, headers: object = SAME_ORIGIN) =>
  service.request({ method: 'PUT', url: PATH, headers: { cookie, ...headers }, payload: payload as object });

beforeAll(async () => {
  service = await startDatabaseService();
  pool = new pg.Pool({ connectionString: service.url });
  tenant = await openAdminTenant(service, 'views.example');
  ann = await join(tenant.key, 'analyst');
});
afterAll(async () => {
  await pool.end();
  await service.close();
});

describe('saved views', () => {
  test('are replaced together, keep their order, and belong to one member', async () => {
    const bob = await join(tenant.key, 'auditor');
    expect(await list(ann)).toEqual([]);
    const views = [BOUNCES, { ...BOUNCES, path: '/statistics' }, { name: 'All', path: '/', query: '' }];
    expect((await save(ann, { views })).json().data).toEqual(views);
    expect(await list(ann)).toEqual(views);
    expect(await list(bob)).toEqual([]);
    // A member who may change nothing else.
    expect((await save(bob, { views: [BOUNCES] })).statusCode).toBe(200);
    expect(await list(ann)).toEqual(views);
    const other = await openAdminTenant(service, 'other-views.example');
    expect(await list(await join(other.key, 'owner'))).toEqual([]);
    expect((await save(ann, { views: [] })).statusCode).toBe(200);
    expect(await list(ann)).toEqual([]);
  });

  test('are those of one of two requests at once, never of both', async () => {
    const sets = [1, 2, 3, 4].map((set) =>
      Array.from({ length: set }, (_, at) => ({ ...BOUNCES, name: `${set} ${at}` })),
    );
    await Promise.all(sets.map((views) => save(ann, { views })));
    expect(sets).toContainEqual(await list(ann));
  });

  test.each([
    ['no body', undefined],
    ['an array', [BOUNCES]],
    ['no list', { views: BOUNCES }],
    ['null', { views: null }],
    ['an unknown field', { views: [{ ...BOUNCES, owner: 'mbr_x' }] }],
    ['a missing field', { views: [{ name: 'x', path: '/messages' }] }],
    ['an empty name', { views: [{ ...BOUNCES, name: ' ' }] }],
    ['a long name', { views: [{ ...BOUNCES, name: 'x'.repeat(61) }] }],
    ['a line break', { views: [{ ...BOUNCES, name: 'a\r\nb' }] }],
    ['NUL', { views: [{ ...BOUNCES, query: 'to=a\0b' }] }],
    ['text that changes direction', { views: [{ ...BOUNCES, name: '\u202Egnp' }] }],
    ['a lone surrogate', { views: [{ ...BOUNCES, query: 'to=\ud800' }] }],
    ['another site', { views: [{ ...BOUNCES, path: '//evil.example' }] }],
    ['a script', { views: [{ ...BOUNCES, path: 'javascript:alert(1)' }] }],
    ['a way out of the dashboard', { views: [{ ...BOUNCES, path: '/../v1/session' }] }],
    ['a long query', { views: [{ ...BOUNCES, query: 'x'.repeat(4_001) }] }],
    ['two of one name', { views: [BOUNCES, { ...BOUNCES, query: '' }] }],
    ['51 views', { views: Array.from({ length: 51 }, (_, at) => ({ ...BOUNCES, name: String(at) })) }],
  ])('refuse %s', async (_what, payload) => {
    expect((await save(ann, { views: [BOUNCES] })).statusCode).toBe(200);
    expect((await save(ann, payload)).statusCode).toBe(400);
    expect(await list(ann)).toEqual([BOUNCES]);
  });

  test('refuse 10 MB, pages of other sites, keys, and people who signed out', async () => {
    expect((await save(ann, { views: [{ ...BOUNCES, query: 'x'.repeat(10_000_000) }] })).statusCode).toBe(413);
    const stranger = await save(ann, { views: [] }, { 'sec-fetch-site': 'cross-site' });
    expect([stranger.statusCode, stranger.json().error.code]).toEqual([403, 'cross_site_request']);
    expect((await service.request({ url: PATH, key: tenant.key })).statusCode).toBe(403);
    expect((await service.request({ url: PATH })).statusCode).toBe(401);
  });

  test('that contain an address are deleted when the person is erased', async () => {
    const views = [
      BOUNCES,
      { name: 'Eve', path: '/messages', query: 'to=Eve%40Erased.example&period=3d' },
      { name: 'of eve@erased.example', path: '/messages', query: '' },
      { name: 'Someone', path: '/messages', query: 'to=someone%40kept.example' },
    ];
    await save(ann, { views });
    const { organizationId } = tenant;
    const digest = await digestOfAddress(service.deps.context, organizationId, 'eve@erased.example');
    const retention = createPostgresRetention({ pool });
    expect(await retention.eraseMemberViews({ organizationId: 'org_other', digest })).toBe(0);
    expect(await retention.eraseMemberViews({ organizationId, digest })).toBe(1);
    expect(await list(ann)).toEqual([views[0], views[3]]);
    expect(await retention.eraseMemberViews({ organizationId, digest })).toBe(0);
  });

  test('are deleted with the member', async () => {
    const dan = await join(tenant.key, 'developer');
    await save(dan, { views: [BOUNCES] });
    const stored = async () =>
      (await pool.query('select from vault.member_views where member_id = $1', [dan.id])).rowCount;
    expect(await stored()).toBe(1);
    await service.request({ method: 'DELETE', url: `/v1/members/${dan.id}`, key: tenant.key });
    expect(await stored()).toBe(0);
  });
});
