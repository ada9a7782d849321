import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { RecordedRefusal } from '../../../src/domain/ports/requests.ts';
import { isRouteName, methodAndUrl, ROUTES } from '../../../src/http/route-table.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { createInMemoryRefusedRequests } from '../../support/in-memory/refused-requests.ts';
import { startService } from '../support/service.ts';

/** Rows of an organization beyond its budget. The budget itself is a burst and a number per second. */
const ALIKE_MAX = 20;
const AT_ONCE = 20;
const EACH_SECOND = 5;

const FALLIBLE = Object.keys(ROUTES)
  .filter(isRouteName)
  .filter((name) => ROUTES[name].permission !== null && name.includes('/:id'))
  .map((name) => methodAndUrl(name));

test('keeps what an unavailable database did not accept, and counts what exceeds the limit', async () => {
  const kept = new Map<string, RecordedRefusal>();
  const requests = createInMemoryRefusedRequests(kept);
  let isAway = true;
  const registry = new Registry();
  const service = await startService({
    registry,
    refusedRequests: {
      ...requests,
      record: async (rows) => {
        if (isAway) throw new StoreUnavailable('away');
        await requests.record(rows);
      },
    },
  });
  const organizationId = await service.makeOrganization();
  const { value: key } = await service.makeKey(organizationId, await service.makeDomain(organizationId, 'a.test'));
  const dropped = async (): Promise<number> =>
    Number(/^outbox_refused_requests_dropped_total (\d+)$/m.exec(await registry.metrics())?.[1]);
  expect(await dropped()).toBe(0);

  const begunMs = performance.now();
  let refused = 0;
  for (const { method, url } of FALLIBLE) {
    const answer = await service.request({ method: method as 'GET', url: url.replace(':id', 'nothing'), key });
    // Routes that need a read model answer 503 here, and those that expect the key in another header 401.
    if (answer.statusCode >= 400 && answer.statusCode < 500 && answer.statusCode !== 401) refused += 1;
  }
  const seconds = (performance.now() - begunMs) / 1_000;
  expect(refused).toBeGreaterThan(AT_ONCE + ALIKE_MAX);
  expect((await service.request({ url: '/v1/requests', key })).json().data).toEqual([]);

  isAway = false;
  const { data } = (await service.request({ url: '/v1/requests?limit=100', key })).json();
  const counted = [...kept.values()].reduce((sum, { count }) => sum + count, 0);
  expect(data).toHaveLength(kept.size);
  expect(kept.size).toBeLessThanOrEqual(AT_ONCE + ALIKE_MAX + EACH_SECOND * Math.ceil(seconds));
  expect(counted + (await dropped())).toBe(refused);
  await service.close();
});
