import {
  InfiniteQueryObserver,
  type InfiniteQueryObserverResult,
  type Query as KeptQuery,
  keepPreviousData,
  QueryClient,
  QueryObserver,
  type QueryObserverResult,
} from '@tanstack/query-core';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { List } from '../../http/schemas/envelope.ts';
import { ApiFault, type Query, request } from './api.ts';
import { currentEnvironment } from './location.ts';
import { createStore } from './store.ts';

/**
 * What screens have read, and follow. While something is read again, what was read before stays, also where that fails: a
 * screen shows a fault only in place of what it never had, or of what it may not show any more.
 */

const RETRIES_MAX = 3;
/** Going back to a screen shows what it showed, and reads it again. */
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

/** What could not be read is tried again this often. Shorter: more for a service that has trouble already. */
const AGAIN_MS = 10_000;

/** What of what is shown could not be read. */
export interface Unread {
  /** When the oldest of what is shown was read, ms; null: all that is shown is as it was read last. */
  readonly since: number | null;
  /** When it is tried again, ms; null: nothing has to be. */
  readonly againAt: number | null;
  /** What the service says of it; null: nothing. */
  readonly why: string | null;
}

const NOTHING: Unread = { since: null, againAt: null, why: null };
export const unread = createStore<Unread>(NOTHING);

const isFailing = ({ state: { status, error } }: KeptQuery): boolean => status === 'error' && mayPass(error);

/** Of the first that the service has answered. */
const whyOf = (failing: readonly KeptQuery[]): string | null => {
  const answered = failing
    .map(({ state }) => state.error)
    .find((error) => error instanceof ApiFault && error.status > 0);
  return answered?.message ?? null;
};

/** Tries again what could not be read. */
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
  const readAt = failing.flatMap(({ state }) => (state.data === undefined ? [] : [state.dataUpdatedAt]));
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

const keyOf = (path: string, query: Query) => [path, query, currentEnvironment()];

/** Deletes a resource. What is gone is not read again, also while its screen is still shown. */
export const removeResource = async (path: string): Promise<void> => {
  await request(path, { method: 'DELETE' });
  client.removeQueries({ queryKey: [path] });
};

interface Result {
  readonly data: unknown;
  readonly error: Error | null;
  readonly isPending: boolean;
}

/** What is shown stays where it cannot be read again; what was wrong stays while it is tried again. */
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
  const asked = JSON.stringify(options.queryKey);
  useEffect(() => observer.setOptions(options), [asked, enabled]);
  return useLasting(observer.getOptimisticResult(options), asked);
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
  client.setQueriesData<Partial<Pages<unknown>>>({ queryKey: [path], type: 'active' }, (found) =>
    found?.pages === undefined || found.pageParams === undefined || found.pages.length <= 1
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
  const asked = JSON.stringify(options.queryKey);
  useEffect(() => observer.setOptions(options), [asked, enabled]);
  const result = observer.getOptimisticResult(
    client.defaultQueryOptions(options) as never,
  ) as InfiniteQueryObserverResult<Pages<T>>;
  const lasting = useLasting(result, asked);
  return result.isFetchNextPageError ? result : lasting;
};

/** Reads a list again and again, while its first page is all that is shown. */
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
