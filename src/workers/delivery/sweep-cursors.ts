import { LRUCache } from 'lru-cache';
import type { DueDelivery, PlaceInDestination } from '../../projections/deliveries/queries.ts';

/**
 * Cursors of a search of the timetable, one for each destination: behind rows that were offered already and are still
 * there. A read model that stands still keeps rows of mail delivered long ago, which must not hide the rows behind them.
 */
export interface SweepCursors {
  /** For the query. */
  behind(): readonly PlaceInDestination[];
  /** Moves the cursors behind a page. @returns whether the next page shows other rows of one of its destinations. */
  advance(page: SweptPage): boolean;
}

export interface SweptPage {
  /** Ordered by destination, and within each by due time. */
  readonly found: readonly DueDelivery[];
  /** Rows of each destination. */
  readonly limit: number;
  /** The last destination may have more rows than were found, although fewer than `limit`. */
  readonly isCut: boolean;
  /** Whether rows of this destination would have been found. */
  isSearched(destination: string): boolean;
  /** Whether a row is queued now: it was not queued a moment ago, and is not known to be stale. */
  isNew(one: DueDelivery): boolean;
}

/** Destinations with more stale rows than a page; 100 bytes of a query each. Others are searched from their first row. */
const CURSORS_MAX = 2_000;

export const createSweepCursors = (): SweepCursors => {
  const cursors = new LRUCache<string, PlaceInDestination>({ max: CURSORS_MAX });

  /** Nothing is left behind the cursors of these destinations: they are searched from their first row again. */
  const reset = (groups: ReadonlyMap<string, unknown>, isSearched: SweptPage['isSearched']): void => {
    for (const destination of [...cursors.keys()]) {
      if (!groups.has(destination) && isSearched(destination)) cursors.delete(destination);
    }
  };

  /** @returns whether the next page shows other rows. */
  const advanceOne = (
    destination: string,
    rows: readonly DueDelivery[],
    hasMore: boolean,
    hasNew: boolean,
  ): boolean => {
    const last = rows.at(-1);
    if (last === undefined || !hasMore) {
      cursors.delete(destination);
      return false;
    }
    if (hasNew) return false;
    cursors.set(destination, { destination, dueAt: last.dueAt, messageId: last.messageId });
    return true;
  };

  return {
    behind: () => [...cursors.values()],
    advance: ({ found, limit, isCut, isSearched, isNew }) => {
      const groups = Map.groupBy(found, ({ destination }) => destination);
      reset(groups, isSearched);
      const advanced = [...groups].filter(([destination, rows]) => {
        const hasMore = rows.length >= limit || (isCut && rows.at(-1) === found.at(-1));
        return advanceOne(destination, rows, hasMore, rows.some(isNew));
      });
      return advanced.length > 0;
    },
  };
};
