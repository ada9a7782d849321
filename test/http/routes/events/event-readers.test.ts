import { expect, test } from 'vitest';
import {
  CATCHING_UP_MAX,
  createEventReaders,
  READERS_MAX,
  READERS_PER_KEY_MAX,
  READERS_PER_ORGANIZATION_MAX,
} from '../../../../src/http/resources/events/event-stream.ts';
import type { Watch } from '../../../../src/http/resources/events/live-feed.ts';
import { StoreUnavailable } from '../../../../src/lib/async/async.ts';

const start = () => {
  const changed: ((organizationId: string) => void)[] = [];
  const woken: string[] = [];
  let open = 0;
  let isAway = false;
  const readers = createEventReaders(
    {
      watch: async () => {
        if (isAway) throw new StoreUnavailable('away');
        open += 1;
        const close = (): void => {
          open -= 1;
        };
        return { after: () => null, wakeInTurn: () => undefined, close };
      },
      wake: (organizationId) => void woken.push(organizationId),
    },
    { onChange: (listener) => void changed.push(listener) },
  );
  const watches: Watch[] = [];
  /** Opens as many readers as allowed. @returns the number, and the code of the rejection. */
  const openAll = async (organizationId: string, keyId: string): Promise<readonly [number, unknown]> => {
    for (let count = 0; ; count += 1) {
      try {
        watches.push(await readers.watch({ organizationId, keyId }, () => undefined));
      } catch (error) {
        return [count, (error as { code?: unknown }).code];
      }
    }
  };
  const away = (away: boolean): void => {
    isAway = away;
  };
  return { readers, watches, changed, woken, openAll, away, open: () => open };
};

test('one key cannot open all streams, nor can all keys of an organization', async () => {
  const { openAll, watches, open } = start();
  expect(await openAll('acme', 'one')).toEqual([READERS_PER_KEY_MAX, 'rate_limit_exceeded']);
  expect(await openAll('acme', 'two')).toEqual([
    READERS_PER_ORGANIZATION_MAX - READERS_PER_KEY_MAX,
    'rate_limit_exceeded',
  ]);
  const [other] = await openAll('other', 'three');
  expect(other).toBeGreaterThanOrEqual((READERS_MAX - READERS_PER_ORGANIZATION_MAX) / 2);
  for (const greedy of ['a', 'b', 'c', 'd']) await openAll(greedy, greedy);
  expect((await openAll('new', 'new'))[0]).toBeGreaterThan(0);
  for (const { close } of watches) close();
  expect(open()).toBe(0);
  expect(await openAll('acme', 'one')).toEqual([READERS_PER_KEY_MAX, 'rate_limit_exceeded']);
});

test('readers that could not begin take no place', async () => {
  const { readers, openAll, away } = start();
  away(true);
  for (let count = 0; count < READERS_PER_KEY_MAX; count += 1)
    await expect(readers.watch({ organizationId: 'acme', keyId: 'one' }, () => undefined)).rejects.toThrow('away');
  away(false);
  expect(await openAll('acme', 'one')).toEqual([READERS_PER_KEY_MAX, 'rate_limit_exceeded']);
});

test('readers that catch up take turns by organization', async () => {
  const { readers } = start();
  const ran: string[] = [];
  const query = (organizationId: string): Promise<unknown> =>
    readers.query(organizationId, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      ran.push(organizationId);
    });
  await Promise.all([...Array.from({ length: 50 }, () => query('greedy')), query('other')]);
  expect(ran.indexOf('other')).toBeLessThanOrEqual(2 * CATCHING_UP_MAX);
});

test('a change of an organization in the key cache wakes its readers', () => {
  const { changed, woken } = start();
  for (const listener of changed) listener('acme');
  expect(woken).toEqual(['acme']);
});
