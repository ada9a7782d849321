import type { InfiniteQueryObserverResult } from '@tanstack/query-core';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { SerializedListedMessage, SerializedMessage } from '../../http/schemas/message.ts';
import { request } from './api.ts';
import { onEvents } from './live.ts';
import { client, cutToFirstPage, type Pages } from './queries.ts';

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

/** Reloads the first page and scrolls to it. */
export const readFromTop = (list: Pick<InfiniteQueryObserverResult<Pages<Message>>, 'refetch'>): void => {
  cutToFirstPage('/v1/messages');
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
      if (scrollY < TOP_PIXELS) readFromTop(latest.current.list);
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
