import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { startEventStoreDbDouble } from '../support/eventstoredb-double/start.ts';
import { operator } from '../support/operator.ts';
import { freshDatabase } from '../support/postgres.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

const SECRET_KEY = 'a secret key that is long enough for a test';
/** The documented limit. */
const EVERYWHERE_MS_MAX = 1_000;
const AWAY_MS = 3_000;
const ASK_EVERY_MS = 20;

/** A path without a route. A valid key gets 404, without a read of the log after authentication. */
const NOWHERE = '/v1/nothing';
const OPEN = 404;

interface KeyAnswer {
  readonly begunMs: number;
  readonly status: number;
}

describe.each([
  ['PostgreSQL', 'DATABASE_URL'],
  ['EventStoreDB', 'EVENTSTORE_URL'],
] as const)('with the log in %s, on an instance next to others that write', (_engine, behindProxy) => {
  const undo: (() => Promise<unknown>)[] = [];
  let dataDir: string;
  let env: Record<string, string>;
  let first: Program;
  /** Connects to the log through the proxy. */
  let second: Program;
  let proxy: TcpProxy;
  let admin: ApiClient;
  let place: readonly string[];

  beforeAll(async () => {
    const data = await newDataDir();
    undo.push(data.remove);
    dataDir = data.path;
    const database = await freshDatabase();
    undo.push(database.drop);
    env = { DATABASE_URL: database.url, SECRET_KEY, ROLES: 'api' };
    if (behindProxy === 'EVENTSTORE_URL') {
      const eventStore = await startEventStoreDbDouble();
      undo.push(eventStore.close);
      env.EVENTSTORE_URL = eventStore.url;
    }
    first = await startProgram({ dataDir, env });
    undo.push(() => first.end('SIGTERM'));
    proxy = await startTcpProxy(env[behindProxy] ?? '');
    undo.push(proxy.stop);
    second = await startProgram({ dataDir, env: { ...env, [behindProxy]: proxy.url } });
    undo.push(() => second.end('SIGTERM'));
    admin = apiClient(first.baseUrl, first.keys.live);
    const [domain] = await operator({ dataDir, env }, 'domains', 'list');
    place = ['--organization', domain.organization_id, '--domain', domain.domain_id];
  });
  afterAll(async () => {
    for (const step of undo.splice(0).reverse()) await step();
  });

  const makeKey = async (domainId = place[3]): Promise<{ id: string; key: string }> => {
    const made = await admin.post('/v1/api-keys', { name: 'k', domain_id: domainId, permissions: ['manage'] });
    expect(made.status).toBe(201);
    return made.body;
  };

  const ask = async (key: string): Promise<KeyAnswer> => {
    const begunMs = performance.now();
    const { status } = await fetch(second.baseUrl + NOWHERE, { headers: { authorization: `Bearer ${key}` } });
    return { begunMs, status };
  };

  /** Time until the second instance rejects the key. It must keep rejecting it. */
  const refusedAfterMs = async (key: string, status: number): Promise<number> => {
    const sinceMs = performance.now();
    const refused = await eventually(
      async () => {
        const answered = await ask(key);
        if (answered.status === OPEN) await sleep(ASK_EVERY_MS);
        return answered;
      },
      (answered) => answered.status !== OPEN,
    );
    expect(refused.status).toBe(status);
    expect((await ask(key)).status).toBe(status);
    return refused.begunMs - sinceMs;
  };

  const CHANGES: Readonly<Record<string, readonly [status: number, change: (id: string) => Promise<unknown>]>> = {
    'is revoked': [401, (id) => admin.post(`/v1/api-keys/${id}/revoke`)],
    'is deleted': [401, (id) => admin.delete(`/v1/api-keys/${id}`)],
    'is rotated without grace': [401, (id) => admin.post(`/v1/api-keys/${id}/rotate`, { revoke_previous: true })],
    'may come from elsewhere alone': [
      403,
      (id) => admin.patch(`/v1/api-keys/${id}`, { allowed_cidrs: ['192.0.2.0/24'] }),
    ],
    'is revoked by the operator': [
      401,
      (id) => operator({ dataDir, env }, 'keys', 'revoke', ...place.slice(0, 2), '--key', id),
    ],
  };

  test.each(Object.entries(CHANGES))('a key that %s is refused within a second', async (_what, [status, change]) => {
    const { id, key } = await makeKey();
    expect((await ask(key)).status).toBe(OPEN);
    await change(id);
    expect(await refusedAfterMs(key, status)).toBeLessThan(EVERYWHERE_MS_MAX);
  });

  test('a key whose domain is deleted is refused within a second', async () => {
    const domain = await admin.post('/v1/domains', { name: 'other.test' });
    const { key } = await makeKey(domain.body.id);
    expect((await ask(key)).status).toBe(OPEN);
    expect((await admin.delete(`/v1/domains/${domain.body.id}`)).status).toBe(204);
    expect(await refusedAfterMs(key, 401)).toBeLessThan(EVERYWHERE_MS_MAX);
  });

  test('a key is refused once it expires, and not before', async () => {
    const { id, key } = await makeKey();
    const expiresMs = Date.now() + 1_500;
    await admin.patch(`/v1/api-keys/${id}`, { expires_at: new Date(expiresMs).toISOString() });
    await sleep(expiresMs - Date.now() - 300);
    expect((await ask(key)).status).toBe(OPEN);
    const refusedMs = await refusedAfterMs(key, 401);
    expect(refusedMs).toBeLessThan(300 + EVERYWHERE_MS_MAX);
    expect(Date.now()).toBeGreaterThanOrEqual(expiresMs);
  });

  test.each([
    ['is cut', () => proxy.cut(), () => proxy.mend()],
    ['hangs', () => proxy.freeze(), () => proxy.thaw()],
  ])(
    'while the connection to the log %s no request is authenticated, and revoked keys stay refused',
    async (_how, lose, regain) => {
      const [kept, revoked] = [await makeKey(), await makeKey()];
      for (const { key } of [kept, revoked]) expect((await ask(key)).status).toBe(OPEN);
      lose();
      const lostMs = performance.now();
      await admin.post(`/v1/api-keys/${revoked.id}/revoke`);
      const asking: Promise<KeyAnswer>[] = [];
      while (performance.now() - lostMs < AWAY_MS) {
        for (const { key } of [kept, revoked]) asking.push(ask(key));
        await sleep(ASK_EVERY_MS * 4);
      }
      const answered = await Promise.all(asking);
      const late = answered.filter(({ begunMs }) => begunMs - lostMs >= EVERYWHERE_MS_MAX);
      expect(late.length).toBeGreaterThan(20);
      expect(late.filter(({ status }) => status !== 503)).toEqual([]);
      expect(new Set(answered.map(({ status }) => status))).toEqual(new Set([OPEN, 503]));
      regain();
      const statuses: number[] = [];
      await eventually(
        async () => {
          statuses.push((await ask(revoked.key)).status);
          return (await ask(kept.key)).status;
        },
        (status) => status === OPEN,
        20_000,
      );
      expect(statuses).not.toContain(OPEN);
      expect((await ask(revoked.key)).status).toBe(401);
    },
  );
});
