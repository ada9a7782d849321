import type { InfiniteQueryObserverResult } from '@tanstack/query-core';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { SerializedListedMessage, SerializedMessage } from '../../http/resources/messages/message.ts';
import { request } from '../data/api.ts';
import { onEvents } from '../data/live.ts';
import { linkTo, navigate, type Place, usePlace } from '../data/location.ts';
import { client, cutToFirstPage, type Pages } from '../data/queries.ts';
import { useShortcuts } from '../data/shortcuts.ts';

/** Remembers the list from which a message was opened, for the next and previous message and the way back. */

type MessagePlace = Pick<SerializedListedMessage, 'id' | 'created_at'>;

const PAGE = 100;
/**
 * Lists are newest first, so the next message is the last of a page. The shortest window with a message is used: it holds
 * fewer than a page, unless more than 100 messages were accepted within a second.
 */
const WINDOWS_MS = [1_000, 60_000, 86_400_000, null] as const;

const list = async (query: Readonly<Record<string, string | number | null>>): Promise<readonly MessagePlace[]> =>
  (await request<List<MessagePlace>>('/v1/messages', { query })).data;

const olderThan = async ({ id, created_at: until }: MessagePlace): Promise<string | null> =>
  (await list({ until, limit: 2 })).find((one) => one.id !== id)?.id ?? null;

const newerThan = async ({ id, created_at: since }: MessagePlace): Promise<string | null> => {
  for (const windowMs of WINDOWS_MS) {
    const until = windowMs === null ? null : new Date(Date.parse(since) + windowMs).toISOString();
    const found = (await list({ since, until, limit: PAGE })).findLast((one) => one.id !== id);
    if (found !== undefined) return found.id;
  }
  return null;
};

/** Id of the next older or newer message of the environment; null: none. */
const neighbourOf = (message: MessagePlace, to: 'older' | 'newer'): Promise<string | null> =>
  to === 'older' ? olderThan(message) : newerThan(message);

interface Trail {
  /** Path of the list. */
  readonly path: string;
  /** Ids of the rows loaded so far. */
  readonly ids: readonly string[];
  /** Query parameters of the list. */
  readonly query: string;
  /** Scroll position in pixels. */
  readonly top: number;
}

let trail: Trail = { path: '', ids: [], query: '', top: 0 };
/** The last message viewed. On return, the keyboard selection starts there. */
let seen: string | null = null;

const noteSeen = (id: string): void => {
  seen = id;
};

const isTrail = ({ path, query }: Place): boolean => trail.path === path && trail.query === query.toString();

/** Records the trail of a list while it is on screen. */
export const useKeptTrail = (ids: readonly string[]): void => {
  const place = usePlace();
  const query = place.query.toString();
  const { path } = place;
  useEffect(() => {
    if (ids.length > 0) trail = { path, ids, query, top: isTrail(place) ? trail.top : 0 };
  }, [ids.length, ids[0], path, query]);
  useEffect(() => {
    // Records the position as it scrolls: the next screen resets it before this list unmounts.
    const scroll = (): void => {
      trail = { ...trail, top: scrollY };
    };
    addEventListener('scroll', scroll, { passive: true });
    return () => removeEventListener('scroll', scroll);
  }, []);
};

interface Way {
  readonly id: string | null;
  /** Scroll position in pixels; null: this is a different list. */
  readonly top: number | null;
}

/** The row and scroll position from which a message was opened. */
export const wayBack = (place: Place): Way => {
  const isSame = seen !== null && isTrail(place) && trail.ids.includes(seen);
  return isSame ? { id: seen, top: trail.top } : { id: null, top: null };
};

/** Opens the neighbouring messages; null: none is known. */
export interface Steps {
  readonly older: (() => void) | null;
  readonly newer: (() => void) | null;
}

/**
 * Binds `J` and `K` to the next and previous message, and `Esc` to the way back to the list: those of the list from which
 * the message was opened, or else of all messages.
 *
 * @param message undefined: not loaded yet, or its neighbours are those of the list only.
 * @param path of the list.
 */
export const useTrail = (id: string, message: MessagePlace | undefined, path = '/messages'): Steps => {
  const tab = usePlace().query.get('tab');
  const [ended, setEnded] = useState<ReadonlySet<keyof Steps>>(new Set());
  useEffect(() => noteSeen(id), [id]);
  const at = trail.ids.indexOf(id);
  const go = (to: string): void => navigate(linkTo(`${path}/${to}`, { tab }), 'replace');
  const find = async (to: keyof Steps, from: MessagePlace): Promise<void> => {
    const next = await neighbourOf(from, to).catch(() => null);
    if (next === null) setEnded(new Set([...ended, to]));
    else go(next);
  };
  const stepTo = (to: keyof Steps, listed: string | undefined): (() => void) | null => {
    if (at >= 0) return listed === undefined ? null : () => go(listed);
    return message === undefined || ended.has(to) ? null : () => void find(to, message);
  };
  const steps: Steps = { older: stepTo('older', trail.ids[at + 1]), newer: stepTo('newer', trail.ids[at - 1]) };
  useShortcuts({
    j: () => steps.older?.(),
    k: () => steps.newer?.(),
    Escape: () => navigate(linkTo(path, at < 0 ? {} : Object.fromEntries(new URLSearchParams(trail.query)))),
  });
  return steps;
};

/** Batches changes once per second: a busy service makes hundreds. */
const TOGETHER_MS = 1_000;
/** Messages reloaded per second. The others show their new status when the list is reloaded. */
const READ_MAX = 20;
/** Scroll distance within which the list is considered at the top. */
const TOP_PIXELS = 80;

type Message = SerializedListedMessage;

/** Applies all changes in one update, because each update renders the list. */
const patch = (messages: readonly SerializedMessage[]): void => {
  const changed = new Map(messages.map((message) => [message.id, message]));
  if (changed.size === 0) return;
  // Other screens cache a single page under the same key, without a list of pages.
  client.setQueriesData<Partial<Pages<Message>>>({ queryKey: ['/v1/messages'] }, (found) =>
    found?.pages === undefined
      ? found
      : {
          ...found,
          pages: found.pages.map((page) => ({
            ...page,
            data: page.data.map((one) => ({ ...one, ...changed.get(one.id) })),
          })),
        },
  );
};

/** True if the window shows the top of the list, or nearly so. */
export const isAtTop = (): boolean => scrollY < TOP_PIXELS;

/** Reloads the first page and scrolls to it. @param path of the API. */
export const readFromTop = (list: Pick<InfiniteQueryObserverResult, 'refetch'>, path = '/v1/messages'): void => {
  cutToFirstPage(path);
  void list.refetch();
  scrollTo(0, 0);
};

/**
 * Keeps a message list up to date. Visible rows change in place. New messages appear if the list is scrolled to the
 * top; otherwise they are only counted.
 * @returns the number of new messages that are not shown yet.
 */
export const useMessageUpdates = (
  list: Pick<InfiniteQueryObserverResult<Pages<Message>>, 'refetch' | 'dataUpdatedAt'>,
  messages: readonly Message[],
): number => {
  const [news, setNews] = useState(0);
  const latest = useRef({ list, messages });
  latest.current = { list, messages };
  useEffect(() => setNews(0), [list.dataUpdatedAt]);

  useEffect(() => {
    const changed = new Set<string>();
    let added = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const showChanged = async (): Promise<void> => {
      const shown = latest.current.messages.filter(({ id }) => changed.has(id)).slice(0, READ_MAX);
      changed.clear();
      const read = await Promise.all(
        shown.map(({ id }) => request<SerializedMessage>(`/v1/messages/${id}`).catch(() => null)),
      );
      patch(read.filter((message) => message !== null));
    };
    const showAdded = (): void => {
      const { size } = added;
      if (size === 0) return;
      added = new Set();
      if (isAtTop()) readFromTop(latest.current.list);
      else setNews((before) => before + size);
    };
    const show = (): void => {
      timer = undefined;
      void showChanged();
      showAdded();
    };
    const note = (type: string, id: string): void => {
      const those = type === 'message.accepted' ? added : changed;
      those.add(id);
      timer ??= setTimeout(show, TOGETHER_MS);
    };
    const stop = onEvents((events) => {
      for (const { type, data } of events) {
        if (type.startsWith('message.') && 'message_id' in data) note(type, data.message_id);
      }
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, []);
  return news;
};
