import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { permissionSchema } from '../../src/domain/api-key/events.ts';
import { environmentSchema } from '../../src/domain/kernel/environment.ts';
import { type AnyBody, eventually } from '../support/api-client.ts';
import { type LocatedSchema, type OpenApi, operationsOf, readOpenApi } from '../support/openapi/document.ts';
import { freshDatabase } from '../support/postgres.ts';
import { type Front, prismBefore } from '../support/prism.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { ATTEMPTS, BODIES, expectHarmless } from './two-organizations/attempts.ts';
import { snapshotOf } from './two-organizations/snapshot.ts';
import { openTenant, type Tenant, type TenantKey } from './two-organizations/tenant.ts';

const NAMES = ['left', 'right'] as const;
type Name = (typeof NAMES)[number];
const PAIRS = [
  ['left', 'right'],
  ['right', 'left'],
] as const;
const KEY_NAMES = ['admin', 'test', 'send', 'read', 'manage'];

const undo: (() => Promise<unknown>)[] = [];
const tenants = {} as Record<Name, Tenant>;
let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
let document: OpenApi;
let front: Front;

const start = async (): Promise<Program> => {
  const data = await newDataDir();
  undo.push(data.remove);
  const database = await freshDatabase();
  undo.push(database.drop);
  receiver = await startWebhookReceiver();
  undo.push(receiver.close);
  const options = {
    dataDir: data.path,
    env: {
      DATABASE_URL: database.url,
      SECRET_KEY: 'a secret key that is long enough for a test',
      // A checkpoint signed during the test is an event too, and would look like a trace of the other organization.
      AUDIT_INTERVAL: '86400',
    },
  };
  const program = await startProgram(options);
  undo.push(() => program.end('SIGTERM'));
  front = await prismBefore(program.baseUrl);
  undo.push(front.close);
  const place = { options, baseUrl: front.url, listener: receiver.url };
  [tenants.left, tenants.right] = await Promise.all([openTenant(place, 'left'), openTenant(place, 'right')]);
  return program;
};

beforeAll(async () => {
  const program = await start();
  document = readOpenApi(await (await fetch(`${program.baseUrl}/openapi.json`)).json());
});
afterAll(async () => {
  for (const step of undo.splice(0).reverse()) await step();
  expect(front.findings).toEqual([]);
});

const guard = z.looseObject({
  'x-permission': z.union([permissionSchema, z.literal('any')]),
  'x-environments': z.array(environmentSchema),
});

/** Operations for members only, which no key can call. */
const isOfMembers = ({ path }: LocatedSchema): boolean =>
  path.startsWith('/v1/passkeys') ||
  ['/v1/organization/contents', '/v1/service', '/v1/session/presence', '/v1/session/views'].includes(path);

/** Operations that need a key, with the required permission and environments. */
const guarded = () =>
  operationsOf(document).flatMap((located) => {
    const { data } = guard.safeParse(located.operation);
    return data === undefined || isOfMembers(located)
      ? []
      : [{ ...located, permission: data['x-permission'], environments: data['x-environments'] }];
  });
type GuardedRoute = ReturnType<typeof guarded>[number];

/** The reason why a key is rejected for any resource, or null. */
const refusalOf = ({ permission, environments }: GuardedRoute, key: TenantKey): string | null => {
  if (![...key.permissions, 'any'].includes(permission) && !key.permissions.includes('admin'))
    return 'permission_missing';
  return environments.includes(key.environment) ? null : 'environment_not_allowed';
};

/**
 * The id prefix of the resource in the path. null: no resource, a number, or a kind that is answered with 404 across
 * organizations.
 */
const idPrefix = ({ operation }: LocatedSchema): string | null => {
  const parameter = operation.parameters.find((one) => one.in === 'path');
  return /^\^([a-z]{3})_\[a-z2-7\]/.exec(String(parameter?.schema.pattern))?.[1] ?? null;
};

const bodyOf = ({ operation }: LocatedSchema): object | undefined =>
  operation.requestBody === undefined ? undefined : (BODIES[operation.operationId] ?? {});

const keyOf = (tenant: Tenant, name: string): TenantKey => {
  const found = tenant.keys.find((key) => key.name === name);
  if (found === undefined) throw new Error(`there is no key ${name}`);
  return found;
};

/** Every path that names a resource of an organization. */
const pathsTo = ({ ids }: Pick<Tenant, 'ids'>) =>
  guarded().flatMap((operation) =>
    (ids[idPrefix(operation) ?? ''] ?? []).map((id) => ({
      operation,
      path: operation.path
        .replace('{id}', id)
        .replace('{organization}', id)
        .replace('{tile}', '0/000.p/1')
        .replace('{version}', '1')
        .replace('{replay}', 'rpl_aaaaaaaaaaaaaaaaaaaaaaaaaa')
        .replace('{delivery}', 'dlv_aaaaaaaaaaaaaaaaaaaaaaaaaa')
        .replace(/diff$/, 'diff?with=1'),
    })),
  );

const attemptsOn = async (victim: Tenant) => {
  const all = guarded().map(async (operation) => {
    const attempts = (await ATTEMPTS[operation.operation.operationId]?.(victim)) ?? [];
    return attempts.map((attempt) => ({ operation, attempt }));
  });
  return (await Promise.all(all)).flat();
};

/** True while work is pending. Keys of a domain may wait for their records forever. */
const underWay = (snapshot: readonly AnyBody[]): boolean => {
  const others = JSON.stringify(snapshot.filter(([path]) => !path.startsWith('/v1/domains')));
  return others.includes('"status":"pending"') || others.includes('"status":"sending"');
};

/** Waits until no work is pending. */
const atRest = async (tenant: Tenant): Promise<readonly AnyBody[]> => {
  let last = '';
  return eventually(
    () => snapshotOf(tenant),
    (snapshot) => {
      const before = last;
      last = JSON.stringify(snapshot);
      return last === before && !underWay(snapshot);
    },
    60_000,
  );
};

test('every operation that needs a key has an attempt on data of another organization', () => {
  const operations = guarded();
  expect(operations.length).toBeGreaterThan(30);
  const [named, others] = [true, false].map((has) => operations.filter((one) => (idPrefix(one) !== null) === has));
  expect((others ?? []).map(({ operation }) => operation.operationId).sort()).toEqual(Object.keys(ATTEMPTS).sort());
  const prefixes = new Set((named ?? []).map(idPrefix));
  expect([...prefixes].sort()).toEqual(Object.keys(tenants.left.ids).sort());
});

describe.each(PAIRS)('data of %s, requested by %s,', (victimName, attackerName) => {
  let before: readonly AnyBody[];
  beforeAll(async () => {
    before = await atRest(tenants[victimName]);
  });

  test.each(KEY_NAMES)('is refused to the %s key by id on every route', async (keyName) => {
    const key = keyOf(tenants[attackerName], keyName);
    for (const { operation, path } of pathsTo(tenants[victimName])) {
      const { status, body } = await key.api.call(operation.method, path, bodyOf(operation));
      const expected = refusalOf(operation, key) ?? 'other_organization';
      expect([operation.method, path, status, body?.error?.code]).toEqual([operation.method, path, 403, expected]);
    }
  });

  test.each(KEY_NAMES)(
    'is neither found nor changed by the %s key with filters, cursors and bodies',
    async (keyName) => {
      const key = keyOf(tenants[attackerName], keyName);
      for (const { operation, attempt } of await attemptsOn(tenants[victimName])) {
        const path = operation.path.replace('{id}', attempt.id ?? '{id}') + (attempt.query ?? '');
        const answer = await key.api.call(operation.method, path, attempt.body);
        const refused = refusalOf(operation, key);
        if (refused === null) expectHarmless(answer, { attempt, key, victim: tenants[victimName] });
        else expect([path, answer.status, answer.body.error.code]).toEqual([path, 403, refused]);
      }
    },
  );

  test('has cursors that are invalid for every other resource', async () => {
    const [victim, attacker] = [tenants[victimName], tenants[attackerName]];
    for (const [prefix, path] of [
      ['msg', '/v1/messages/ID/events'],
      ['key', '/v1/api-keys/ID/history'],
    ] as const) {
      const [theirs = '', mine = ''] = [victim, attacker].map(({ ids }) => path.replace('ID', ids[prefix]?.[0] ?? ''));
      const { body } = await victim.live.get(`${theirs}?limit=1`);
      if (prefix === 'msg') expect(body.next_cursor).toMatch(/./);
      const after = body.next_cursor ?? 'x';
      const { status, body: answer } = await attacker.live.get(`${mine}?after=${after}`);
      expect([path, status, answer.error.code]).toEqual([path, 400, 'invalid_cursor']);
    }
  });

  test('is unchanged by all that', async () => {
    expect(await snapshotOf(tenants[victimName])).toEqual(before);
  });
});

test('the same Idempotency-Key creates one message in each organization and environment', async () => {
  const first = NAMES.flatMap((name) => [tenants[name].ids.msg?.[0], tenants[name].ids.msg?.[3]]);
  expect(new Set(first).size).toBe(4);
});

describe('webhooks', () => {
  test.each(NAMES)('of %s receive its own messages and no others', (name) => {
    const posts = receiver.posts.filter(({ url }) => url === `/hook?${name}`);
    const ids = new Set(posts.map(({ body }) => JSON.parse(body).data.message_id));
    const { ids: own, neighboursMessage } = tenants[name];
    expect([...ids].sort()).toEqual([...(own.msg ?? []), neighboursMessage].sort());
  });
});

describe('a key with send and read for the second domain of its organization', () => {
  test('gets 404 for messages of the first domain from every route', async () => {
    const { neighbour, ids } = tenants.left;
    const own = pathsTo({ ids: { msg: ids.msg ?? [] } });
    // Only admins can read reports.
    for (const { operation, path } of own.filter(({ operation }) => operation.permission !== 'admin')) {
      const { status, body } = await neighbour.call(operation.method, path, bodyOf(operation));
      expect([operation.method, path, status, body.error.code]).toEqual([operation.method, path, 404, 'not_found']);
    }
  });

  test('lists, reads and counts only messages of its own domain', async () => {
    const { neighbour, neighboursMessage, domain, second, ids } = tenants.left;
    const get = async (path: string): Promise<AnyBody> => (await neighbour.get(path)).body;
    expect((await get('/v1/messages')).data.map(({ id }: AnyBody) => id)).toEqual([neighboursMessage]);
    expect((await get(`/v1/messages?domain_id=${domain.id}`)).data).toEqual([]);
    expect((await get(`/v1/messages/${neighboursMessage}`)).id).toBe(neighboursMessage);
    const events = await get('/v1/events?limit=100');
    expect(events.data.length).toBeGreaterThan(0);
    for (const id of [...(ids.msg ?? []), ...(ids.key ?? [])]) expect(JSON.stringify(events)).not.toContain(id);
    for (const query of ['', `?domain=${second.id}`]) expect((await get(`/v1/stats${query}`)).totals.accepted).toBe(1);
    const { status, body } = await neighbour.get(`/v1/stats?domain=${domain.id}`);
    expect([status, body.error.code]).toEqual([403, 'permission_missing']);
  });
});
