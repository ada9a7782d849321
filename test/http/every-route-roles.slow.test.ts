import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Permission } from '../../src/domain/api-key/events.ts';
import type { Environment } from '../../src/domain/kernel/environment.ts';
import type { Role } from '../../src/domain/member/events.ts';
import { type DatabaseService, startDatabaseService } from './support/database-service.ts';
import { cookieOf, nextAddress, SAME_ORIGIN, signInWith } from './support/sign-in.ts';
import { openWalkTenant, requestOf, type WalkTenant } from './support/walk.ts';
import { newAuditor } from './support/walk-bodies.ts';
import { ALL_KINDS, GUARDED, type Kind, lawOf, type WalkedRoute } from './support/walk-routes.ts';
import { bearer, type Headers } from './support/walk-strangers.ts';

/** A kind of caller, and the permissions that the table grants it. */
interface Asker {
  readonly kind: 'key' | 'member' | 'auditor token' | 'anonymous';
  readonly role?: Role;
  readonly permissions: readonly Permission[];
  readonly environment: Environment;
  /** True if it may see contents of mail. */
  readonly contents: boolean;
  readonly readsAlone: boolean;
}

const key = (permission: Permission, environment: Environment = 'live'): Asker => ({
  kind: 'key',
  permissions: [permission],
  environment,
  contents: true,
  readsAlone: false,
});
const member = (role: Role, permissions: readonly Permission[], contents: boolean, readsAlone = false): Asker => ({
  kind: 'member',
  role,
  permissions,
  environment: 'live',
  contents,
  readsAlone,
});
const without = (kind: Asker['kind']): Asker => ({ ...key('admin'), kind, permissions: [], contents: false });

const ASKERS = {
  owner: member('owner', ['admin'], true),
  developer: member('developer', ['send', 'read', 'manage'], true),
  analyst: member('analyst', ['read'], false),
  auditor: member('auditor', ['admin'], false, true),
  'send-only key': key('send'),
  'read key': key('read'),
  'manage key': key('manage'),
  'admin key': key('admin'),
  'test key': key('admin', 'test'),
  'auditor token': without('auditor token'),
  'signed out': without('anonymous'),
} as const satisfies Readonly<Record<string, Asker>>;
type Name = keyof typeof ASKERS;
const NAMES = Object.keys(ASKERS) as readonly Name[];

type Reason = 'unauthorized' | 'permission_missing' | 'environment_not_allowed';

const holds = ({ kind, role, permissions }: Asker, { permission, roles }: WalkedRoute['rule']): boolean => {
  if (kind === 'member' && roles !== undefined) return roles.some((one) => one === role);
  return permission === 'any' || permissions.includes(permission) || permissions.includes('admin');
};

/** True if the table rejects this kind of caller. */
const kindRefuses = ({ kind, contents }: Asker, { rule }: WalkedRoute): boolean => {
  if (kind === 'auditor token') return rule.auditors !== true || (rule.contents === true && !contents);
  return kind === 'key' && rule.membersOnly === true;
};

/** True if a member's role is rejected, whatever their permissions are. */
const roleRefuses = ({ kind, contents, readsAlone }: Asker, { rule, method }: WalkedRoute): boolean =>
  kind === 'member' &&
  ((readsAlone && method !== 'GET' && rule.ownSession !== true) ||
    (!contents && rule.contents === true) ||
    rule.operatorsOnly === true);

/** The reason why the table rejects a caller, or null if it allows the request. */
const refusalOf = (asker: Asker, route: WalkedRoute): Reason | null => {
  if (asker.kind === 'anonymous') return 'unauthorized';
  if (kindRefuses(asker, route) || roleRefuses(asker, route)) return 'permission_missing';
  if (asker.kind === 'auditor token') return null;
  if (!holds(asker, route.rule)) return 'permission_missing';
  return route.rule.environments.includes(asker.environment) ? null : 'environment_not_allowed';
};

let service: DatabaseService;
let tenant: WalkTenant;
const headers: Partial<Record<Name, Headers>> = {};
const ids: Partial<Record<Kind, string>> = {};

const post = async (url: string, payload: object) => {
  const by = tenant.keyOf({ permission: 'admin', environment: 'live' });
  const answer = await service.request({ method: 'POST', url, key: by, payload });
  expect([url, answer.statusCode < 300], answer.body).toEqual([url, true]);
  return answer.json();
};

const headersOf = async (name: Name): Promise<Headers> => {
  const asker: Asker = ASKERS[name];
  const [permission = 'admin'] = asker.permissions;
  switch (asker.kind) {
    case 'key':
      return bearer(tenant.keyOf({ permission, environment: asker.environment }));
    case 'member': {
      const { link } = await post('/v1/members', { email: `${name}@example.net`, role: name });
      return { cookie: cookieOf(await signInWith(service, link.url)), ...SAME_ORIGIN };
    }
    case 'auditor token':
      return bearer((await post('/v1/audit/auditors', newAuditor())).token);
    case 'anonymous':
      return {};
    default:
      return asker.kind satisfies never;
  }
};

beforeAll(async () => {
  service = await startDatabaseService({ webhooksMax: 10_000 });
  tenant = await openWalkTenant(service);
  for (const kind of ALL_KINDS) ids[kind] = await tenant.make(kind, 'live');
  for (const name of NAMES) headers[name] = await headersOf(name);
});
afterAll(() => service.close());

const isChange = ({ method }: WalkedRoute): boolean => method !== 'GET';

/** A change carries a body that is not valid JSON, so that an authorized caller gets 400 and nothing changes. */
const ask = (route: WalkedRoute, name: Name) => {
  const { method, url = '' } = requestOf(route, tenant, route.kind === null ? '' : ids[route.kind]);
  const asked = { method: method as 'GET', url: String(url), remoteAddress: nextAddress() };
  if (method === 'GET') return service.request({ ...asked, headers: headers[name] ?? {} });
  const typed = { ...headers[name], 'content-type': 'application/json' };
  return service.request({ ...asked, headers: typed, payload: '{"broken' });
};

/** The status for an authorized caller. A test key sees no live resource. */
const successOf = ({ kind, method, rule }: WalkedRoute, { environment }: Asker): number => {
  if (method !== 'GET') return 400;
  return kind !== null && !lawOf(kind).sees(environment, 'live') ? 404 : rule.status;
};

const STATUS: Readonly<Record<Reason, number>> = {
  unauthorized: 401,
  permission_missing: 403,
  environment_not_allowed: 403,
};

/** The expected status and error code. */
const expectedOf = (asker: Asker, route: WalkedRoute): readonly [status: number, code: string | null] => {
  const refusal = refusalOf(asker, route);
  if (refusal !== null) return [STATUS[refusal], refusal];
  const status = successOf(route, asker);
  return [status, { 400: 'invalid_json', 404: 'not_found' }[status] ?? null];
};

describe.each(GUARDED)('$name', (route) => {
  test.each(NAMES)('answers the %s as the table says, and changes nothing', async (name) => {
    const asker = ASKERS[name];
    const head = await service.deps.context.store.head();
    const { body, statusCode } = await ask(route, name);
    const code = statusCode < 400 ? null : JSON.parse(body).error.code;
    expect([statusCode, code], body).toEqual(expectedOf(asker, route));
    // Reading contents is recorded.
    if (refusalOf(asker, route) !== null || isChange(route)) expect(await service.deps.context.store.head()).toBe(head);
  });
});

describe('the list of operations', () => {
  const listed = GUARDED.filter(({ name }) => !name.includes('/compat/'));
  const callers = NAMES.filter((name) => !['auditor token', 'signed out'].includes(name));

  test.each(callers)('tells the %s what the service then allows', async (name) => {
    const answer = await service.request({ url: '/v1/session/operations', headers: headers[name] ?? {} });
    const said = answer
      .json()
      .data.map(({ method, path, allowed }: Record<string, string>) => [
        `${method} ${path?.replaceAll(/\{(\w+)\}/g, ':$1')}`,
        allowed,
      ]);
    const expected = listed.map((route) => [route.name, refusalOf(ASKERS[name], route) === null]);
    expect(said.toSorted()).toEqual(expected.toSorted());
  });
});

const admitted = (name: Name, isMeant: (route: WalkedRoute) => boolean = () => true): readonly string[] =>
  GUARDED.filter((route) => isMeant(route) && refusalOf(ASKERS[name], route) === null).map((route) => route.name);

/** Routes that a mistake in the table would open. They are deliberately listed a second time. */
describe('the table allows', () => {
  const OWN = [
    'PUT /v1/session/views',
    'DELETE /v1/session',
    'POST /v1/session/presence',
    'POST /v1/passkeys',
    'DELETE /v1/passkeys/:passkey',
  ];

  test.each(['analyst', 'auditor'] as const)('an %s to change only their own session, views and passkeys', (name) => {
    expect(admitted(name, isChange)).toEqual(OWN);
  });

  test('members who see no contents to read no route of contents', () => {
    for (const name of ['analyst', 'auditor', 'auditor token'] as const)
      expect(admitted(name, ({ rule }) => rule.contents === true)).toEqual([]);
  });

  test('a key that only sends to do that and ask who it is, and nothing else', () => {
    expect(admitted('send-only key')).toEqual([
      'POST /v1/messages/send',
      'POST /v1/messages/batch',
      'POST /v1/messages/analyze',
      'POST /v1/messages/:id/cancel',
      'POST /v1/messages/:id/resend',
      'POST /v1/messages/resend',
      'POST /v1/messages/cancel',
      'PATCH /v1/messages/:id',
      'POST /v1/templates/:id/test-send',
      'POST /v1/inbound/test',
      'GET /v1/session',
      'GET /v1/session/operations',
    ]);
  });

  test('a key that only reads to change nothing but a session, which it does not have', () => {
    expect(admitted('read key', isChange)).toEqual(['DELETE /v1/session']);
  });

  test('the token of an auditor to read the log, its proofs, and the resources that it is about', () => {
    const paths = admitted('auditor token');
    expect(paths.length).toBeGreaterThan(20);
    for (const path of paths)
      expect(path).toMatch(
        /^GET \/v1\/(?:audit|messages|api-keys|domains|webhooks|templates|suppressions|members|erasures)\b/,
      );
  });

  test('no access without signing in', () => {
    expect(admitted('signed out')).toEqual([]);
  });

  test('only owners and keys with admin to change keys with admin, members, erasures, plans and holds', () => {
    const guarded = /^(?:POST|PUT|PATCH|DELETE) \/v1\/(?:members|sessions|erasures|billing|organization|audit)\b/;
    for (const name of NAMES) {
      const mayNot = name !== 'owner' && name !== 'admin key' && name !== 'test key';
      if (mayNot) expect(admitted(name, (route) => guarded.test(route.name))).toEqual([]);
    }
  });
});
