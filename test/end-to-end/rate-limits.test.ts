import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { apiClient } from '../support/api-client.ts';
import { operator } from '../support/operator.ts';
import { placeForTest, programForTest } from '../support/place-for-test.ts';
import { redisIsMissing, startRedis } from '../support/redis.ts';

const LIMIT = 100;
/** Time for two syncs, 0.2 s apart, on a busy machine. */
const SYNCED_MS = 2_000;

describe('two API processes', () => {
  /** Two processes on one database, and a key limited to 100 requests a minute. */
  const openTwo = async (more: Readonly<Record<string, string>> = {}) => {
    const options = await placeForTest({ ...more, ROLES: 'api' });
    const programs = [await programForTest(options), await programForTest(options)];
    const domain = (await operator(options, 'domains', 'list'))[0];
    const place = ['--organization', domain.organization_id, '--domain', domain.domain_id];
    const created = await operator(options, 'keys', 'create', ...place, '--permissions', 'admin', '--read', `${LIMIT}`);
    return { programs, clients: programs.map(({ baseUrl }) => apiClient(baseUrl, created.key)) };
  };
  type Two = Awaited<ReturnType<typeof openTwo>>;

  const ask = (client: Two['clients'][number] | undefined) =>
    client === undefined ? Promise.reject(new Error('no client')) : client.get('/v1/organization');

  /** Sends requests to all clients at once. @returns the number that were admitted. */
  const fire = async (clients: Two['clients'], each: number): Promise<number> => {
    const asked = clients.flatMap((client) => Array.from({ length: each }, () => ask(client)));
    const answers = await Promise.all(asked);
    expect(answers.filter(({ status }) => ![200, 429].includes(status))).toEqual([]);
    for (const { headers, body } of answers.filter(({ status }) => status === 429)) {
      expect(body.error).toMatchObject({ code: 'rate_limit_exceeded' });
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    return answers.filter(({ status }) => status === 200).length;
  };

  test('share the limit of a key with PostgreSQL only, except for what arrives between two syncs', async () => {
    const { clients } = await openTwo();
    const [first, second] = [clients.slice(0, 1), clients.slice(1)];
    expect(await fire(first, 60)).toBe(60);
    await sleep(SYNCED_MS);
    expect(await fire(second, LIMIT)).toBe(LIMIT - 60);
    await sleep(SYNCED_MS);
    expect(await fire(clients, 50)).toBe(0);
  });

  test('grant the whole limit to a key whose requests all go to one of them', async () => {
    const { clients } = await openTwo();
    const [first, second] = [clients.slice(0, 1), clients.slice(1)];
    let admitted = 0;
    for (let i = 0; i < 15; i += 1) admitted += await fire(first, 10);
    expect(admitted).toBe(LIMIT);
    await sleep(SYNCED_MS);
    expect(await fire(second, 10)).toBe(0);
  });

  test.skipIf(redisIsMissing)('share the limit of a key in Redis', async () => {
    const redis = await startRedis();
    onTestFinished(redis.stop);
    const { clients } = await openTwo({ REDIS_URL: redis.url });
    let admitted = 0;
    // Sent in small groups: processes that are too busy to receive a reply within 50 ms count locally.
    for (let i = 0; i < 20; i += 1) admitted += await fire(clients, 3);
    expect(admitted).toBe(LIMIT);
  });
});
