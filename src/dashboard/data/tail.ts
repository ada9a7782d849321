import { useEffect, useRef, useState } from 'preact/hooks';
import type { List } from '../../http/schemas/envelope.ts';
import type { FeedEvent } from '../../http/schemas/event.ts';
import { liveness, onEvents } from './live.ts';
import { useResource } from './queries.ts';
import { useStore } from './store.ts';

/** The newest events, followed live. */

const SECOND_MS = 1_000;

export interface Tail {
  /** Newest first. */
  readonly events: readonly FeedEvent[];
  /** Events received since the screen opened, shown or not. */
  readonly came: number;
  /** Events in the most recent second that had any. */
  readonly perSecond: number;
  readonly isPending: boolean;
  readonly error: Error | null;
}

interface TailOptions {
  /** Types and families separated by commas, in the API's format; empty: all. */
  readonly types: string;
  /** Maximum number of events kept and shown. */
  readonly limit: number;
  readonly isPaused?: boolean;
}

const matches = (types: string, { type }: FeedEvent): boolean =>
  types === '' ||
  types.split(',').some((one) => one === type || (one.endsWith('.*') && type.startsWith(one.slice(0, -1))));

const merge = (newer: readonly FeedEvent[], older: readonly FeedEvent[], limit: number): readonly FeedEvent[] => {
  const known = new Set(newer.map(({ id }) => id));
  return [...newer, ...older.filter(({ id }) => !known.has(id))].slice(0, limit);
};

/** A reload may hold events that the stream has not brought yet. Events with the same time keep their order. */
const newestFirst = (events: readonly FeedEvent[]): readonly FeedEvent[] =>
  events.toSorted((left, right) => Date.parse(right.timestamp) - Date.parse(left.timestamp));

/** Pausing freezes the list. Events that arrive while it is paused appear when it resumes. */
export const useTail = ({ types, limit, isPaused = false }: TailOptions): Tail => {
  const first = useResource<List<FeedEvent>>({ path: '/v1/events', query: { limit, types } });
  const { state } = useStore(liveness);
  const [shown, show] = useState<Pick<Tail, 'events' | 'came' | 'perSecond'>>({ events: [], came: 0, perSecond: 0 });
  const paused = useRef(isPaused);
  paused.current = isPaused;
  const showNow = useRef<() => void>(() => undefined);

  // Events from before the stream started are missing, so the first page is read again.
  const was = useRef(state);
  useEffect(() => {
    if (state === 'live' && was.current !== 'live') void first.refetch();
    was.current = state;
  }, [state]);

  useEffect(() => {
    let news: readonly FeedEvent[] = [];
    let came = 0;
    let second = { at: 0, count: 0 };
    const countIn = (at: number, count: number): void => {
      second = { at, count: second.at === at ? second.count + count : count };
    };
    show({ events: [], came: 0, perSecond: 0 });
    showNow.current = () => {
      const latest = paused.current ? [] : news;
      if (!paused.current) news = [];
      show(({ events }) => ({ events: merge(latest, events, limit), came, perSecond: second.count }));
    };
    return onEvents((events) => {
      const matching = events.filter((event) => matches(types, event));
      if (matching.length === 0) return;
      countIn(Math.floor(Date.now() / SECOND_MS), matching.length);
      came += matching.length;
      news = [...matching.toReversed(), ...news].slice(0, limit);
      showNow.current();
    });
  }, [types, limit]);
  useEffect(() => {
    if (!isPaused) showNow.current();
  }, [isPaused]);

  const read = first.isPlaceholderData ? [] : (first.data?.data ?? []);
  // The query reloads when the window regains focus, which must not change a paused list.
  const older = useRef({ types, read });
  const isOther = older.current.types !== types || older.current.read.length === 0;
  if (!isPaused || isOther) older.current = { types, read };
  return {
    ...shown,
    events: newestFirst(merge(shown.events, older.current.read.toReversed(), limit)),
    isPending: first.isPending || first.isPlaceholderData,
    error: first.error,
  };
};
