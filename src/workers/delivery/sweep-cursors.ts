import { LRUCache } from 'lru-cache';
import type { DueDelivery, DuePlace, DuePlaces } from '../../projections/deliveries/queries.ts';

/**
 * Cursors of a search of the timetable, one for each mail flow or destination: behind rows that were offered already and
 * are still there. A read model that stands still keeps rows of mail delivered long ago, which must not hide the rows
 * behind them.
 */
export interface SweepCursors {
  /** For the query. */
  behind(): DuePlaces;
  /** Moves the cursors behind a page. @returns whether the next page shows other rows of one of its keys. */
  advance(page: SweptPage): boolean;
}

export interface SweptPage {
  /** Ordered by key, and within each by due time. */
  readonly found: readonly DueDelivery[];
  /** Rows of each key. */
  readonly limit: number;
  /** The last key may have more rows than were found, although fewer than `limit`. */
  readonly isCut: boolean;
  /** Whether rows of this key would have been found. */
  isSearched(key: string): boolean;
  /** Whether a row is queued now: it was not queued a moment ago, and is not known to be stale. */
  isNew(one: DueDelivery): boolean;
}

/** Keys with more stale rows than a page; 100 bytes of a query each. Others are searched from their first row. */
const CURSORS_MAX = 2_000;

/** @param keyOf the mail flow or destination of a row. */
export const createSweepCursors = (keyOf: (row: DueDelivery) => string): SweepCursors => {
  const cursors = new LRUCache<string, DuePlace>({ max: CURSORS_MAX });

  /** Nothing is left behind the cursors of these keys: they are searched from their first row again. */
  const reset = (groups: ReadonlyMap<string, unknown>, isSearched: SweptPage['isSearched']): void => {
    for (const key of [...cursors.keys()]) {
      if (!groups.has(key) && isSearched(key)) cursors.delete(key);
    }
  };

  /** @returns whether the next page shows other rows. */
  const advanceOne = (key: string, rows: readonly DueDelivery[], hasMore: boolean, hasNew: boolean): boolean => {
    const last = rows.at(-1);
    if (last === undefined || !hasMore) {
      cursors.delete(key);
      return false;
    }
    if (hasNew) return false;
    cursors.set(key, { dueAt: last.dueAt, messageId: last.messageId });
    return true;
  };

  return {
    behind: () => new Map(cursors.entries()),
    advance: ({ found, limit, isCut, isSearched, isNew }) => {
      const groups = Map.groupBy(found, keyOf);
      reset(groups, isSearched);
      const advanced = [...groups].filter(([key, rows]) => {
        const hasMore = rows.length >= limit || (isCut && rows.at(-1) === found.at(-1));
        return advanceOne(key, rows, hasMore, rows.some(isNew));
      });
      return advanced.length > 0;
    },
  };
};
