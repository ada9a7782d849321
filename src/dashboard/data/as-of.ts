import type { AsOf, List } from '../../http/schemas/envelope.ts';
import type { FeedEvent } from '../../http/schemas/event.ts';
import type { Query } from './api.ts';
import { navigate, usePlace, withParameters } from './location.ts';
import { useResource } from './queries.ts';

/** Reads a resource as it was at an earlier moment. The URL holds the moment in the API's own format. */

/** The API's response to a request with `at`. */
export type Past<T> = T & { readonly as_of?: AsOf };

/** The moment on display: ISO 8601 or `leaf:<number>`; null: now. Past states are read-only. */
export const useAsOf = (): string | null => usePlace().query.get('at');

/** Query parameters that read a resource at a moment. */
export const queryAt = (at: string | null): Query => (at === null ? {} : { at });

/** @param at null: return to the present. @param how `replace`: adds no history entry. */
export const travel = (at: string | null, how: 'push' | 'replace' = 'push'): void =>
  navigate(withParameters({ at }), how);

/** An event in the history of a resource. */
export interface Moment {
  /** ISO 8601. */
  readonly at: string;
  /** One or two words: `rotated`. */
  readonly word: string;
}

/**
 * Keeps one moment per timestamp, oldest first. Events with the same timestamp share a moment; the last one gives the
 * word.
 */
export const momentsOf = (events: readonly Moment[]): readonly Moment[] =>
  [...new Map(events.map((event) => [event.at, event])).values()].sort((left, right) => (left.at < right.at ? -1 : 1));

/** `api_key.change_refused`: change refused. */
export const wordOfType = (type: string): string => type.replace(/^.*\./, '').replaceAll('_', ' ');

/** Loads at most this many of the newest events. More would be indistinguishable on a slider. */
const EVENTS_MAX = 100;

/** The newest events that match the selection, which are parameters of the event feed. */
export const useMoments = (selection: Query): readonly Moment[] => {
  const { data } = useResource<List<FeedEvent>>({ path: '/v1/events', query: { ...selection, limit: EVENTS_MAX } });
  return momentsOf((data?.data ?? []).map(({ type, timestamp: at }) => ({ at, word: wordOfType(type) })));
};
