import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { formatSecret } from '../../src/domain/api-key/secret.ts';
import { apiClient, eventually } from '../support/api-client.ts';
import { startEventStoreDbDouble } from '../support/eventstoredb-double/start.ts';
import { expectFirstJourney } from '../support/first-journey.ts';
import { operator, unlimitedKey } from '../support/operator.ts';
import { placeForTest, programForTest } from '../support/place-for-test.ts';
import type { Program } from '../support/program.ts';
import { redisIsMissing, startRedis } from '../support/redis.ts';
import { allDelivered, sendMany, statuses } from '../support/senders.ts';

describe('the service on other engines', () => {
  test('runs on an external PostgreSQL, with one role per process', async () => {
    const { dataDir, env } = await placeForTest();
    const api = await programForTest({ dataDir, env: { ...env, ROLES: 'api' } });
    await programForTest({ dataDir, env: { ...env, ROLES: 'projections' } });
    await programForTest({ dataDir, env: { ...env, ROLES: 'workers' } });
    await expectFirstJourney(apiClient(api.baseUrl, api.keys.live));

    const { organization_id: other } = await operator({ dataDir, env }, 'organizations', 'create', '--name', 'Other');
    const domain = await operator(
      { dataDir, env },
      'domains',
      'create',
      '--organization',
      other,
      '--name',
      'other.test',
    );
    const bound = ['--organization', other, '--domain', domain.domain_id, '--permissions', 'admin'];
    const { key } = await operator({ dataDir, env }, 'keys', 'create', ...bound);
    const inbox = await eventually(
      () => apiClient(api.baseUrl, key).get('/v1/inbox'),
      ({ status }) => status === 200,
    );
    expect(inbox.body.data).toEqual([]);
    await expect(operator({ dataDir, env }, 'keys', 'create', 'surplus', ...bound)).rejects.toThrow(
      /Usage: keys create/,
    );
  });

  test('creates one organization when several processes start at once on an empty log', async () => {
    const { dataDir, env } = await placeForTest();
    const both = await Promise.all([programForTest({ dataDir, env }), programForTest({ dataDir, env })]);
    expect(both.map(({ keys }) => keys.live).filter((key) => key !== '')).toHaveLength(1);
    expect(await operator({ dataDir, env }, 'organizations', 'list')).toHaveLength(1);
  });

  test('treats a different OUTBOX_ADMIN_KEY as a rotation, and never restores one that was rotated away', async () => {
    const { dataDir, env } = await placeForTest();
    const [one, two] = [formatSecret('live', randomBytes(32)), formatSecret('live', randomBytes(32))];
    const ask = async (program: Program, key: string): Promise<number> =>
      (await apiClient(program.baseUrl, key).get('/v1/organization')).status;

    const first = await programForTest({ dataDir, env: { ...env, OUTBOX_ADMIN_KEY: one } });
    const api = apiClient(first.baseUrl, one);
    const keys = (await api.get('/v1/api-keys')).body.data as { id: string; environment: string }[];
    const id = keys.find(({ environment }) => environment === 'live')?.id;
    const rotated = await api.post(`/v1/api-keys/${id}/rotate`, { revoke_previous: true });
    await first.end('SIGTERM');

    const second = await programForTest({ dataDir, env: { ...env, OUTBOX_ADMIN_KEY: one } });
    expect([await ask(second, one), await ask(second, rotated.body.key)]).toEqual([401, 200]);
    await second.end('SIGTERM');

    const third = await programForTest({ dataDir, env: { ...env, OUTBOX_ADMIN_KEY: two } });
    // A key that was rotated away works for a second at most.
    await eventually(
      () => ask(third, rotated.body.key),
      (status) => status === 401,
      1_000,
    );
    expect(await ask(third, two)).toBe(200);
  });

  test('runs with its log in EventStoreDB', async () => {
    const { dataDir, env } = await placeForTest();
    const eventStore = await startEventStoreDbDouble();
    onTestFinished(eventStore.close);
    const program = await programForTest({ dataDir, env: { ...env, EVENTSTORE_URL: eventStore.url } });
    await expectFirstJourney(apiClient(program.baseUrl, program.keys.live));
  });

  test('moves its log from PostgreSQL to EventStoreDB and back, and reads the same', async () => {
    const { dataDir, env } = await placeForTest();
    const eventStore = await startEventStoreDbDouble();
    onTestFinished(eventStore.close);
    const first = await programForTest({ dataDir, env });
    const key = first.keys.live;
    await expectFirstJourney(apiClient(first.baseUrl, key));
    const before = await statuses(apiClient(first.baseUrl, key));
    await expect(operator({ dataDir, env }, 'log', 'copy', '--to', eventStore.url)).rejects.toThrow(/stop it first/);
    await first.end('SIGTERM');

    await operator({ dataDir, env }, 'log', 'copy', '--to', eventStore.url);
    const onEventStoreDb = { ...env, EVENTSTORE_URL: eventStore.url };
    const second = await programForTest({ dataDir, env: onEventStoreDb });
    const after = await eventually(
      () => statuses(apiClient(second.baseUrl, key)).catch(() => new Map()),
      ({ size }) => size === before.size,
    );
    expect(after).toEqual(before);
    const onSecond = apiClient(second.baseUrl, key);
    expect((await onSecond.get('/v1/stats')).body.totals).toMatchObject({ accepted: 2, delivered: 2 });
    await sendMany(onSecond, 3).done;
    const all = await eventually(
      () => statuses(onSecond),
      (found) => [...found.values()].filter((status) => status === 'delivered').length === 4,
    );
    await second.end('SIGTERM');

    await operator({ dataDir, env: onEventStoreDb }, 'log', 'copy', '--to', 'database');
    const third = await programForTest({ dataDir, env });
    const back = await eventually(
      () => statuses(apiClient(third.baseUrl, key)).catch(() => new Map()),
      ({ size }) => size === all.size,
    );
    expect(back).toEqual(all);
  });

  describe.skipIf(redisIsMissing)('with Redis', () => {
    test('delivers, and loses only time when all data in Redis is deleted while mail is in flight', async () => {
      const { dataDir, env } = await placeForTest();
      const redis = await startRedis();
      onTestFinished(redis.stop);
      const options = { dataDir, env: { ...env, REDIS_URL: redis.url } };
      const program = await programForTest(options);
      await expectFirstJourney(apiClient(program.baseUrl, program.keys.live));

      const api = apiClient(program.baseUrl, await unlimitedKey(options));
      const sending = sendMany(api, 300);
      await eventually(
        async () => sending.accepted.length,
        (count) => count >= 100,
        30_000,
      );
      await redis.flush();
      await sending.done;
      expect(sending.accepted).toHaveLength(300);
      await allDelivered(api, sending.accepted, 60_000);
    });
  });
});
