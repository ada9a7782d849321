import { useEffect, useState } from 'preact/hooks';
import type { List } from '../../http/schemas/envelope.ts';
import type { SerializedSearchResult } from '../../http/schemas/search.ts';
import { linkTo } from './location.ts';
import { useResource } from './queries.ts';

/** Resolves typed or pasted text to a resource through the service. */

/** Debounce delay. Shorter: requests while typing. Longer: pasted text takes longer to resolve. */
const PAUSE_MS = 120;
/** Input limit of the search endpoint. */
const CHARACTERS_MAX = 320;

const SCREENS: readonly (readonly [path: string, screen: string])[] = [
  ['/v1/messages/', '/messages/'],
  ['/v1/api-keys/', '/keys/'],
  ['/v1/domains/', '/domains/'],
  ['/v1/templates/', '/templates/'],
  ['/v1/webhooks/', '/webhooks/'],
];

/** Screens of resources that have no page of their own. */
const LISTS: readonly (readonly [path: string, screen: string])[] = [
  ['/v1/messages', '/messages'],
  ['/v1/events', '/events'],
  ['/v1/suppressions', '/suppressions'],
  ['/v1/topics', '/suppressions'],
  ['/v1/members', '/settings'],
  ['/v1/erasures', '/settings'],
];

/** The screen that shows the resource at an API path. */
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

export interface Resolution {
  readonly found: readonly SerializedSearchResult[];
  /** True until the current text is resolved. */
  readonly isPending: boolean;
  /** Why the text could not be resolved. */
  readonly error: Error | null;
}

/** Resources that match the text, best first. */
export const useResolution = (typed: string): Resolution => {
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
