import type { DueDelivery, PlaceInDestination } from '../../projections/deliveries/queries.ts';
import { putLast } from './put-last.ts';

/**
 * Where a search of the timetable goes on: behind rows that were offered already and are still there. Read models that
 * stand still keep rows of what was delivered long ago, and these must not hide the rows behind them.
 */
export interface SearchPlaces {
  /** For the query. */
  behind(): readonly PlaceInDestination[];
  /** Takes a page in. @returns whether the next one shows other rows of one of its destinations. */
  turn(page: SearchedPage): boolean;
}

export interface SearchedPage {
  /** In the order of their destinations, and in each in the order in which they are due. */
  readonly found: readonly DueDelivery[];
  /** Of each destination. */
  readonly limit: number;
  /** The last destination may have more than was found, less than `limit` as it is. */
  readonly isCut: boolean;
  /** Whether rows of this destination would have been found. */
  isSearched(destination: string): boolean;
  /** Whether a row is offered now: it was not a moment ago, and nothing is known against it. */
  isNew(one: DueDelivery): boolean;
}

/** Destinations with more stale rows than a page. Those beyond are searched from their first row on; each costs 100 bytes of a query. */
const PLACES_MAX = 2_000;

interface Searched extends Pick<SearchedPage, 'isNew'> {
  readonly hasMore: boolean;
}

export const createSearchPlaces = (): SearchPlaces => {
  const places = new Map<string, PlaceInDestination>();

  /** Nothing is behind the place of these: they are searched from their first row again. */
  const goBack = (groups: ReadonlyMap<string, unknown>, isSearched: SearchedPage['isSearched']): void => {
    for (const destination of places.keys()) {
      if (!groups.has(destination) && isSearched(destination)) places.delete(destination);
    }
  };

  /** @returns whether the next page shows other rows. */
  const goOn = (destination: string, rows: readonly DueDelivery[], { hasMore, isNew }: Searched): boolean => {
    const last = rows.at(-1);
    if (last === undefined || !hasMore) {
      places.delete(destination);
      return false;
    }
    if (rows.some(isNew)) return false;
    putLast(places, destination, { destination, dueAt: last.dueAt, messageId: last.messageId }, PLACES_MAX);
    return true;
  };

  return {
    behind: () => [...places.values()],
    turn: ({ found, limit, isCut, isSearched, isNew }) => {
      const groups = Map.groupBy(found, ({ destination }) => destination);
      goBack(groups, isSearched);
      const mayHaveMore = (rows: readonly DueDelivery[]): boolean =>
        rows.length >= limit || (isCut && rows.at(-1) === found.at(-1));
      const turned = [...groups].filter(([destination, rows]) =>
        goOn(destination, rows, { hasMore: mayHaveMore(rows), isNew }),
      );
      return turned.length > 0;
    },
  };
};
