import {
  InfiniteQueryObserver,
  type InfiniteQueryObserverResult,
  keepPreviousData,
  QueryClient,
  QueryObserver,
  type QueryObserverResult,
} from '@tanstack/query-core';
import { useEffect, useState } from 'preact/hooks';
import type { List } from '../../http/schemas/envelope.ts';
import { ApiFault, type Query, request } from './api.ts';
import { currentEnvironment } from './location.ts';

/** What screens have read, and follow. While something is read again, what was read before stays. */

const RETRIES_MAX = 3;
/** Going back to a screen shows what it showed, and reads it again. */
const FRESH_MS = 2_000;

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode: 'always',
      staleTime: FRESH_MS,
      retry: (failed, error) => failed < RETRIES_MAX && (!(error instanceof ApiFault) || error.isTransient),
      retryDelay: (failed) => 500 * 2 ** failed,
    },
  },
});
client.mount();

const keyOf = (path: string, query: Query) => [path, query, currentEnvironment()];

interface When {
  /** Default: true. */
  readonly enabled?: boolean;
  /** Reads again this often. Default: when told. */
  readonly everyMs?: number;
}

export interface Reading extends When {
  readonly path: string;
  readonly query?: Query;
}

/** What is read from several resources together. @param key of it, besides the environment. */
export const useRead = <T>(
  key: readonly unknown[],
  read: (signal: AbortSignal) => Promise<T>,
  { enabled = true, everyMs }: When = {},
): QueryObserverResult<T> => {
  const options = client.defaultQueryOptions<T, Error, T, T, readonly unknown[]>({
    queryKey: [...key, currentEnvironment()],
    queryFn: ({ signal }) => read(signal),
    enabled,
    ...(everyMs === undefined ? {} : { refetchInterval: everyMs }),
    placeholderData: keepPreviousData,
  });
  const [observer] = useState(() => new QueryObserver(client, options));
  const [, render] = useState({});
  useEffect(() => observer.subscribe(() => render({})), [observer]);
  useEffect(() => observer.setOptions(options), [JSON.stringify(options.queryKey), enabled]);
  return observer.getOptimisticResult(options);
};

/** One resource. */
export const useResource = <T>({ path, query = {}, ...when }: Reading): QueryObserverResult<T> =>
  useRead([path, query], (signal) => request<T>(path, { query, signal }), when);

export interface Pages<T> {
  readonly pages: readonly List<T>[];
  readonly pageParams: readonly unknown[];
}

/** A list that has been read further is not read again by itself: each page is a request. */
const REREAD_PAGES_MAX = 5;
const isShort = ({ state }: { readonly state: { readonly data?: unknown } }): boolean =>
  ((state.data as Pages<unknown> | undefined)?.pages.length ?? 0) <= REREAD_PAGES_MAX;

/** Forgets all but the first page of a list. What is shown of it at its top stays as it is. */
export const cutToFirstPage = (path: string): void => {
  client.setQueriesData<Pages<unknown>>({ queryKey: [path], type: 'active' }, (found) =>
    found === undefined || found.pages.length <= 1
      ? found
      : { pages: found.pages.slice(0, 1), pageParams: found.pageParams.slice(0, 1) },
  );
};

/** A list, of which further pages are read as they are needed. */
export const useList = <T>({ path, query = {}, enabled = true }: Reading): InfiniteQueryObserverResult<Pages<T>> => {
  const options = {
    queryKey: keyOf(path, query),
    queryFn: ({ signal, pageParam }: { signal: AbortSignal; pageParam: unknown }) =>
      request<List<T>>(path, { query: { ...query, after: pageParam as string | null }, signal }),
    initialPageParam: null as unknown,
    getNextPageParam: (last: List<T>) => last.next_cursor,
    refetchOnMount: isShort,
    refetchOnWindowFocus: isShort,
    refetchOnReconnect: isShort,
    enabled,
    placeholderData: keepPreviousData,
  };
  const [observer] = useState(() => new InfiniteQueryObserver(client, options));
  const [, render] = useState({});
  useEffect(() => observer.subscribe(() => render({})), [observer]);
  useEffect(() => observer.setOptions(options), [JSON.stringify(options.queryKey), enabled]);
  return observer.getOptimisticResult(client.defaultQueryOptions(options) as never) as InfiniteQueryObserverResult<
    Pages<T>
  >;
};
