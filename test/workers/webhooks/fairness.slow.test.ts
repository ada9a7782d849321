import { describe, expect, test } from 'vitest';
import { createPostgresSecrets } from '../../../src/adapters/secrets/postgres.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import type { Secrets } from '../../../src/domain/ports/secrets.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { openPool } from '../../projections/support/open.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { until } from '../delivering.ts';
import { openService, type Service } from '../service.ts';
import { openReceiver, type Receiver } from './receiver.ts';

const OTHERS = 60;
const EVENTS = 20;

interface Beside {
  readonly service: Service;
  readonly healthy: Receiver & { readonly secretId: string };
  sendAll(): Promise<void>;
}

const openBeside = async (others: readonly string[]): Promise<Beside> => {
  const service = closedAfterTest(await openService());
  const receiver = closedAfterTest(await openReceiver());
  for (const url of others) await service.webhook(url, ['message.accepted'], 'test');
  const { webhook } = await service.webhook(receiver.url, ['message.accepted'], 'test');
  const sendAll = async (): Promise<void> => {
    await Promise.all(Array.from({ length: EVENTS }, (_, number) => service.send(`u${number}@example.org`, 'test')));
  };
  return { service, healthy: { ...receiver, secretId: webhook.secretId }, sendAll };
};

const secondsUntil = async (check: () => void): Promise<number> => {
  const beganMs = performance.now();
  await until(check);
  return (performance.now() - beganMs) / 1000;
};

describe('a healthy endpoint', () => {
  test('loses no claim when posts to others cannot be prepared, and those are due again at once', async () => {
    const others = closedAfterTest(await openReceiver());
    const urls = Array.from({ length: OTHERS }, (_, number) => `${others.url}/${number}`);
    const { service, healthy, sendAll } = await openBeside(urls);
    const { secrets } = service.dependencies;
    let isMended = false;
    const get: Secrets['get'] = async (id) => {
      if (isMended || id === healthy.secretId) return secrets.get(id);
      throw new StoreUnavailable('the vault does not answer');
    };
    service.workers({ secrets: { ...secrets, get } }).start();
    await sendAll();
    expect(await secondsUntil(() => expect(healthy.posts).toHaveLength(EVENTS))).toBeLessThan(3);
    expect(others.posts).toEqual([]);
    isMended = true;
    await until(() => expect(others.posts).toHaveLength(urls.length * EVENTS));
  });

  test('does not use up connections: hundreds of first reads of secrets share two concurrent queries', async () => {
    const pool = await openPool();
    const system = createSystem();
    const secretKey = 'a key of at least thirty-two characters';
    const ids = Array.from({ length: 512 }, (_, number) => `secret_${number}`);
    const before = createPostgresSecrets({ pool, system, secretKeys: { current: secretKey } });
    for (const id of ids) await before.put(id, 'org_1', `value of ${id}`);
    let open = 0;
    let most = 0;
    let queries = 0;
    const query = pool.query.bind(pool) as (...asked: unknown[]) => Promise<unknown>;
    const counting = Object.assign(Object.create(pool), {
      query: async (...asked: unknown[]) => {
        queries += 1;
        open += 1;
        most = Math.max(most, open);
        return query(...asked).finally(() => {
          open -= 1;
        });
      },
    });
    const secrets = createPostgresSecrets({ pool: counting, system, secretKeys: { current: secretKey } });
    expect(await Promise.all(ids.map(secrets.get))).toEqual(ids.map((id) => `value of ${id}`));
    expect(most).toBeLessThanOrEqual(2);
    expect(queries).toBeLessThanOrEqual(4);
  });
});
