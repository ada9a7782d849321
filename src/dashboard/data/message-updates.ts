import type { InfiniteQueryObserverResult } from '@tanstack/query-core';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { SerializedListedMessage, SerializedMessage } from '../../http/schemas/message.ts';
import { request } from './api.ts';
import { onEvents } from './live.ts';
import { client, cutToFirstPage, type Pages } from './queries.ts';

/** Changes of a second are shown together: a busy service has hundreds. */
const TOGETHER_MS = 1_000;
/** Messages read anew in a second. Those left out show their status when the list is read again. */
const READ_MAX = 20;
/** The list counts as at its top. */
const TOP_PIXELS = 80;

type Message = SerializedListedMessage;

/** All at once: each would draw the list. */
const patch = (messages: readonly SerializedMessage[]): void => {
  const changed = new Map(messages.map((message) => [message.id, message]));
  if (changed.size === 0) return;
  // Other screens have read a single page of them, which is no list of pages.
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

/** Reads the first page again, and shows it. */
export const readFromTop = (list: Pick<InfiniteQueryObserverResult<Pages<Message>>, 'refetch'>): void => {
  cutToFirstPage('/v1/messages');
  void list.refetch();
  scrollTo(0, 0);
};

/**
 * Follows what happens to the messages of a list: shown rows change in place; new messages come by themselves at the top
 * of the list, and elsewhere are only counted.
 * @returns how many new messages wait.
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
