import type { AsOf, List } from '../../http/schemas/envelope.ts';
import type { FeedEvent } from '../../http/schemas/event.ts';
import type { Query } from './api.ts';
import { navigate, usePlace, withParameters } from './location.ts';
import { useResource } from './queries.ts';

/** A resource as it was: the moment is in the URL, as the API takes it. */

/** What the API answers to a request with `at`. */
export type Past<T> = T & { readonly as_of?: AsOf };

/** The moment that is shown, ISO 8601 or `leaf:<number>`; null: now. Nothing can be changed in the past. */
export const useAsOf = (): string | null => usePlace().query.get('at');

/** Parameters of the request for a resource. */
export const queryAt = (at: string | null): Query => (at === null ? {} : { at });

/** @param at null: back to now. @param how `replace`: the step is not kept in the history. */
export const travel = (at: string | null, how: 'push' | 'replace' = 'push'): void =>
  navigate(withParameters({ at }), how);

/** An event of a resource. */
export interface Moment {
  /** ISO 8601. */
  readonly at: string;
  /** One or two words: `rotated`. */
  readonly word: string;
}

/** Oldest first, one for each time: events of one time cannot be told apart by it. The last of them gives the word. */
export const momentsOf = (events: readonly Moment[]): readonly Moment[] =>
  [...new Map(events.map((event) => [event.at, event])).values()].sort((left, right) => (left.at < right.at ? -1 : 1));

/** `api_key.change_refused`: change refused. */
export const wordOfType = (type: string): string => type.replace(/^.*\./, '').replaceAll('_', ' ');

/** Of more, the older ones would not be told apart on a slider. */
const EVENTS_MAX = 100;

/** The newest events of the feed that these parameters of it select. */
export const useMoments = (selection: Query): readonly Moment[] => {
  const { data } = useResource<List<FeedEvent>>({ path: '/v1/events', query: { ...selection, limit: EVENTS_MAX } });
  return momentsOf((data?.data ?? []).map(({ type, timestamp: at }) => ({ at, word: wordOfType(type) })));
};
