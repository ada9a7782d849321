import type { JSX } from 'preact';
import type { useList } from '../data/queries.ts';
import { Fault, Skeleton } from './states.tsx';

interface ListedProps<Row> {
  readonly label: string;
  readonly list: ReturnType<typeof useList<Row>>;
  /** CSS class of the list in addition to `list`. */
  readonly look: string;
  readonly empty: JSX.Element;
  keyOf(row: Row): string;
  render(row: Row): JSX.Element;
}

/** A short list with an empty state and a button for more rows. */
export const Listed = <Row,>({ label, list, look, empty, keyOf, render }: ListedProps<Row>): JSX.Element => {
  const rows = list.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <>
      {list.error !== null && <Fault error={list.error} retry={() => void list.refetch()} />}
      {list.isPending && list.error === null && <Skeleton />}
      {list.data !== undefined && rows.length === 0 && empty}
      {rows.length > 0 && (
        <ul class={`list ${look} ${list.isPlaceholderData ? 'dim' : ''}`} aria-label={label}>
          {rows.map((row) => (
            <li key={keyOf(row)}>{render(row)}</li>
          ))}
        </ul>
      )}
      {list.hasNextPage && (
        <button type="button" class="btn further" onClick={() => void list.fetchNextPage()}>
          Show more
        </button>
      )}
    </>
  );
};
