import type { Caller } from '../../../domain/api-key/key-authority.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { createSemaphore, createShares, type Place } from '../../../lib/async/async.ts';
import type { LiveFeed, Watch } from '../../../projections/events/live-feed.ts';
import type { KeyCache } from '../../auth/key-cache.ts';

/** Bounds of those who wait for events, by streams and by long polls, with a share for each organization and key. */

/** Open streams and long polls of a process, some 45 kB each. Higher: memory. Lower: readers are refused. */
export const READERS_MAX = 4_000;
/** Higher: fewer organizations fill the memory. Lower: a busy dashboard loses its streams. */
export const READERS_PER_ORGANIZATION_MAX = 2_000;
/** For one key or session. Higher: a faulty client uses up its organization's share. Lower: a large client is refused. */
export const READERS_PER_KEY_MAX = 1_000;
/** Readers that query the read model at once. Higher: fewer connections for other requests. Lower: streams catch up later. */
export const CATCHING_UP_MAX = 4;

const RETRY_AFTER_SECONDS = 60;

export interface EventReaders {
  /**
   * Follows the events of the caller's organization until `close`.
   * @param wake called when there may be something new, when a key or session was changed, and every 15 s.
   * @throws {DomainError} `rate_limit_exceeded`: the share is used up; `unavailable`: there are too many in all.
   */
  watch(caller: Pick<Caller, 'organizationId' | 'keyId'>, wake: () => void): Promise<Watch>;
  /** Queries when the organization's turn comes. */
  query<Result>(organizationId: string, work: () => Promise<Result>): Promise<Result>;
}

export const createEventReaders = (
  liveFeed: Pick<LiveFeed, 'watch' | 'wake'>,
  keyCache: Pick<KeyCache, 'onChange'>,
): EventReaders => {
  keyCache.onChange(liveFeed.wake);
  const places = createShares({
    max: READERS_MAX,
    shares: { organization: READERS_PER_ORGANIZATION_MAX, key: READERS_PER_KEY_MAX },
  });
  const queries = createSemaphore({ capacity: CATCHING_UP_MAX });

  const enter = ({ organizationId, keyId }: Pick<Caller, 'organizationId' | 'keyId'>): Place => {
    const place = places.take({ organization: organizationId, key: keyId });
    if (!('full' in place)) return place;
    const again = { retryAfterSeconds: RETRY_AFTER_SECONDS };
    if (place.full === 'all')
      throw new DomainError('unavailable', 'too many event streams are open: try again later', again);
    throw new DomainError(
      'rate_limit_exceeded',
      `this ${place.full} has too many event streams and waiting requests open: close some, or share one stream`,
      again,
    );
  };

  return {
    watch: async (caller, wake) => {
      const place = enter(caller);
      try {
        const watch = await liveFeed.watch(caller.organizationId, wake);
        const close = (): void => {
          watch.close();
          place.release();
        };
        return { ...watch, close };
      } catch (error) {
        place.release();
        throw error;
      }
    },
    query: (organizationId, work) => queries.run(work, 1, organizationId),
  };
};
