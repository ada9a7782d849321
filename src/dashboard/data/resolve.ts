import { useEffect, useState } from 'preact/hooks';
import type { List } from '../../http/schemas/envelope.ts';
import type { SerializedSearchResult } from '../../http/schemas/search.ts';
import { linkTo } from './location.ts';
import { useResource } from './queries.ts';

/** Where typed or pasted text leads: the service resolves it. */

/** While it is typed nothing is asked. Longer delays what is pasted. */
const PAUSE_MS = 120;
/** The search takes no more. */
const CHARACTERS_MAX = 320;

const SCREENS: readonly (readonly [path: string, screen: string])[] = [
  ['/v1/messages/', '/messages/'],
  ['/v1/api-keys/', '/keys/'],
  ['/v1/domains/', '/domains/'],
  ['/v1/templates/', '/templates/'],
  ['/v1/webhooks/', '/webhooks/'],
];

/** Screens of things that have no page of their own. */
const LISTS: readonly (readonly [path: string, screen: string])[] = [
  ['/v1/messages', '/messages'],
  ['/v1/events', '/events'],
  ['/v1/suppressions', '/suppressions'],
  ['/v1/topics', '/suppressions'],
  ['/v1/members', '/settings'],
  ['/v1/erasures', '/settings'],
];

/** The screen that shows what the path of the API reads. */
export const screenOf = ({ path, type, id, title }: SerializedSearchResult): string => {
  const { pathname, searchParams } = new URL(path, location.origin);
  if (type === 'request') return linkTo('/requests', { request: id });
  const [prefix, screen] = SCREENS.find(([begin]) => pathname.startsWith(begin)) ?? [];
  if (prefix !== undefined) {
    const [one = '', part, delivery] = pathname.slice(prefix.length).split('/');
    return linkTo(`${screen}${one}`, part === 'deliveries' ? { delivery } : {});
  }
  const list = LISTS.find(([begin]) => pathname.startsWith(begin))?.[1] ?? '';
  const address = type === 'suppression' ? /\S+@\S+$/.exec(title)?.[0] : undefined;
  const period = list === '/messages' ? 'all' : undefined;
  return linkTo(list, { ...Object.fromEntries(searchParams), period, address });
};

export interface Resolved {
  readonly found: readonly SerializedSearchResult[];
  /** What is typed has not been answered yet. */
  readonly isPending: boolean;
  /** Why it could not be answered. */
  readonly error: Error | null;
}

/** What the service finds for a text, best first. */
export const useFound = (typed: string): Resolved => {
  const text = typed.trim().slice(0, CHARACTERS_MAX);
  const [asked, ask] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => ask(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const { data, isPlaceholderData, error } = useResource<List<SerializedSearchResult>>({
    path: '/v1/search',
    query: { q: asked },
    enabled: asked !== '',
  });
  const isAnswered = asked === text && (asked === '' || error !== null || (data !== undefined && !isPlaceholderData));
  const found = text === '' || !isAnswered || error !== null ? [] : (data?.data ?? []);
  return { found, isPending: !isAnswered, error: isAnswered && text !== '' ? error : null };
};
