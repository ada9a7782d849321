import {
  InfiniteQueryObserver,
  type InfiniteQueryObserverResult,
  type Query as KeptQuery,
  keepPreviousData,
  QueryClient,
  type QueryFilters,
  QueryObserver,
  type QueryObserverResult,
} from '@tanstack/query-core';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import { ApiFault, type Query, type RequestOptions, request } from './api.ts';
import { currentEnvironment } from './location.ts';
import { createStore } from './store.ts';

/**
 * Reads and caches data for screens. While data is reloaded, and if that fails, the previous data stays on screen. A
 * screen shows a fault only if it never had data or may no longer show it.
 */

const RETRIES_MAX = 3;
/** Returning to a screen shows cached data and reloads it if it is older than this. */
const FRESH_MS = 2_000;

const mayPass = (error: Error | null): boolean => !(error instanceof ApiFault) || error.isTransient;

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode: 'always',
      staleTime: FRESH_MS,
      retry: (failed, error) => failed < RETRIES_MAX && mayPass(error),
      retryDelay: (failed) => 500 * 2 ** failed,
    },
  },
});
client.mount();

/**
 * Retry interval for failed reads. Shorter: more load on a service that already has trouble. Longer: stale data stays
 * longer.
 */
const AGAIN_MS = 10_000;

/** State of the visible data that could not be reloaded. */
export interface Unread {
  /** When the oldest visible data was read, Unix time in milliseconds; null: everything is up to date. */
  readonly since: number | null;
  /** Next retry, Unix time in milliseconds; null: none is needed. */
  readonly againAt: number | null;
  /** The service's error message; null: it sent none. */
  readonly why: string | null;
}

const NOTHING: Unread = { since: null, againAt: null, why: null };
export const unread = createStore<Unread>(NOTHING);

/** When the data of a lagging list was complete, Unix time in milliseconds; null: it is not behind. */
const completeUntil = ({ state: { data } }: KeptQuery): number | null => {
  const pages = (data as { readonly pages?: unknown } | undefined)?.pages;
  const [first] = Array.isArray(pages) ? pages : [data];
  const { object, complete_until: until } = (first ?? {}) as Partial<List<unknown>>;
  return object === 'list' && until !== undefined ? Date.parse(until) : null;
};

const isFailing = (query: KeptQuery): boolean =>
  query.state.status === 'error' ? mayPass(query.state.error) : completeUntil(query) !== null;

/** Message of the first failure with a response. */
const whyOf = (failing: readonly KeptQuery[]): string | null => {
  const answered = failing
    .map(({ state }) => state.error)
    .find((error) => error instanceof ApiFault && error.status > 0);
  return answered?.message ?? null;
};

/** Retries failed reads. */
export const readAgain = (): void => void client.refetchQueries({ type: 'active', predicate: isFailing });

let again: ReturnType<typeof setTimeout> | undefined;
const noteFailing = (): void => {
  const failing = client.getQueryCache().findAll({ type: 'active', predicate: isFailing });
  if (failing.length === 0) {
    clearTimeout(again);
    again = undefined;
    unread.set(NOTHING);
    return;
  }
  const readAt = failing.flatMap((query) =>
    query.state.data === undefined ? [] : [completeUntil(query) ?? query.state.dataUpdatedAt],
  );
  const since = readAt.length === 0 ? null : Math.min(...readAt);
  const before = unread.get();
  const againAt = again === undefined || before.againAt === null ? Date.now() + AGAIN_MS : before.againAt;
  again ??= setTimeout(() => {
    again = undefined;
    if (!document.hidden) readAgain();
    noteFailing();
  }, AGAIN_MS);
  const why = whyOf(failing);
  if (since !== before.since || againAt !== before.againAt || why !== before.why) unread.set({ since, againAt, why });
};
client.getQueryCache().subscribe(noteFailing);

/**
 * Reads again after a change. A first load under way may have read before the change, and an invalidation joins it: what it
 * loads is read once more.
 */
export const reloadChanged = async (changed: QueryFilters = {}): Promise<void> => {
  const loading = client.getQueryCache().findAll({ ...changed, fetchStatus: 'fetching' });
  const first = new Set(loading.filter(({ state }) => state.data === undefined));
  await client.invalidateQueries(changed);
  if (first.size > 0) await client.invalidateQueries({ predicate: (query) => first.has(query) });
};

const keyOf = (path: string, query: Query) => [path, query, currentEnvironment()];

/**
 * Deletes a resource and its cached data with that of its parts (`/v1/domains/dom_1/warm-up`), so that a screen still
 * showing it does not reload it.
 */
export const removeResource = async (
  path: string,
  options: Pick<RequestOptions, 'environment'> = {},
): Promise<void> => {
  await request(path, { ...options, method: 'DELETE' });
  client.removeQueries({ predicate: ({ queryKey: [key] }) => `${key}/`.startsWith(`${path}/`) });
};

interface Result {
  readonly data: unknown;
  readonly error: Error | null;
  readonly isPending: boolean;
}

/** Keeps data on screen when a reload fails, and keeps an error on screen while it is retried. */
const useLasting = <R extends Result>(result: R, asked: string): R => {
  const failed = useRef<{ readonly asked: string; readonly error: Error } | null>(null);
  const { data, error, isPending } = result;
  if (error !== null && data !== undefined && mayPass(error)) return { ...result, error: null };
  if (error !== null) failed.current = { asked, error };
  else if (!isPending || failed.current?.asked !== asked) failed.current = null;
  return failed.current === null || error !== null ? result : { ...result, error: failed.current.error };
};

interface When {
  /** Default: true. */
  readonly enabled?: boolean;
  /** Refresh interval. Default: only when invalidated. */
  readonly everyMs?: number;
}

export interface Reading extends When {
  readonly path: string;
  readonly query?: Query;
}

/** Reads several resources as one query. @param key cache key besides the environment. */
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
  const asked = JSON.stringify(options.queryKey);
  useEffect(() => observer.setOptions(options), [asked, enabled]);
  return useLasting(observer.getOptimisticResult(options), asked);
};

/** Reads one resource. */
export const useResource = <T>({ path, query = {}, ...when }: Reading): QueryObserverResult<T> =>
  useRead([path, query], (signal) => request<T>(path, { query, signal }), when);

export interface Pages<T> {
  readonly pages: readonly List<T>[];
  readonly pageParams: readonly unknown[];
}

/** Lists with more loaded pages do not reload automatically: each page takes a request. */
const REREAD_PAGES_MAX = 5;
const isShort = ({ state }: { readonly state: { readonly data?: unknown } }): boolean =>
  ((state.data as Pages<unknown> | undefined)?.pages.length ?? 0) <= REREAD_PAGES_MAX;

/** Drops all but the first page of a list. Its first rows stay on screen. */
export const cutToFirstPage = (path: string): void => {
  client.setQueriesData<Partial<Pages<unknown>>>({ queryKey: [path], type: 'active' }, (found) =>
    found?.pages === undefined || found.pageParams === undefined || found.pages.length <= 1
      ? found
      : { pages: found.pages.slice(0, 1), pageParams: found.pageParams.slice(0, 1) },
  );
};

/** A list that loads further pages on demand. */
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
  const asked = JSON.stringify(options.queryKey);
  useEffect(() => observer.setOptions(options), [asked, enabled]);
  const result = observer.getOptimisticResult(
    client.defaultQueryOptions(options) as never,
  ) as InfiniteQueryObserverResult<Pages<T>>;
  const lasting = useLasting(result, asked);
  return result.isFetchNextPageError ? result : lasting;
};

/** Polls a list as long as only its first page is loaded. */
export const useNews = <T>(list: ReturnType<typeof useList<T>>, everyMs: number): void => {
  const latest = useRef(list);
  latest.current = list;
  useEffect(() => {
    const timer = setInterval(() => {
      const { data, refetch } = latest.current;
      if (data?.pages.length === 1 && !document.hidden) void refetch();
    }, everyMs);
    return () => clearInterval(timer);
  }, []);
};
