/** Rows per page of a list. Larger pages hold more in memory, smaller ones cost round trips (api.md, lists). */
const PAGE_ROWS_MAX = 100;

/** A newest-first list continues after the row with these values; opaque to clients. */
export interface ListCursor {
  /** ISO 8601. */
  readonly createdAt: string;
  readonly id: string;
}

/** One page of a list. */
export interface ListPage<Item> {
  readonly items: readonly Item[];
  readonly hasMore: boolean;
  /** Pass as `after` for the page that follows; null: this was the last. */
  readonly next: ListCursor | null;
}

/** Queries ask for one row more than the page holds, which tells whether there are more. */
export const rowsToAsk = (limit: number): number => Math.min(limit, PAGE_ROWS_MAX) + 1;

/** @param rows what a query that asked for `rowsToAsk(limit)` was answered. */
export const pageOf = <Item>(
  rows: readonly Item[],
  limit: number,
  cursorOf: (item: Item) => ListCursor,
): ListPage<Item> => {
  const items = rows.slice(0, rowsToAsk(limit) - 1);
  const last = items.at(-1);
  const hasMore = rows.length > items.length;
  return { items, hasMore, next: hasMore && last !== undefined ? cursorOf(last) : null };
};
