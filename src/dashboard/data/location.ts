import { createStore, useStore } from './store.ts';

/** The URL holds the whole view: filters, tab, selection and environment. Any view can therefore be shared. */

const BASE = '/dashboard';

export interface Place {
  /** Path below `/dashboard`, without a trailing slash: ``, `/messages`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

export type Environment = 'live' | 'test';

const here = (): Place => ({
  path: location.pathname.slice(BASE.length).replace(/\/+$/, ''),
  query: new URLSearchParams(location.search),
});

const place = createStore(here());
addEventListener('popstate', () => place.set(here()));

export const usePlace = (): Place => useStore(place);
export const environmentOf = ({ query }: Place): Environment => (query.get('environment') === 'test' ? 'test' : 'live');
/** Path of the current screen. */
export const currentPath = (): string => place.get().path;
export const currentEnvironment = (): Environment => environmentOf(place.get());

type Parameters = Readonly<Record<string, string | null | undefined>>;

/** Path and query of a screen in the current environment. Empty parameters are omitted. */
export const linkTo = (path: string, parameters: Parameters = {}): string => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value) query.set(name, value);
  if (!query.has('environment') && currentEnvironment() === 'test') query.set('environment', 'test');
  const text = query.toString();
  return `${BASE}${path}${text === '' ? '' : `?${text}`}`;
};

/** @param how `replace`: adds no history entry. */
export const navigate = (to: string, how: 'push' | 'replace' = 'push'): void => {
  const isElsewhere = new URL(to, location.href).pathname !== location.pathname;
  if (how === 'push') history.pushState(null, '', to);
  else history.replaceState(null, '', to);
  place.set(here());
  if (isElsewhere) scrollTo(0, 0);
};

/** The current screen with some parameters changed; null removes one. */
export const withParameters = (changes: Parameters): string => {
  const { path, query } = place.get();
  const changed = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value) changed.set(name, value);
    else changed.delete(name);
  }
  const text = changed.toString();
  return `${BASE}${path}${text === '' ? '' : `?${text}`}`;
};

/** True for a plain click. The browser handles other buttons and modifier keys. */
const isPlain = ({ defaultPrevented, button, metaKey, ctrlKey, shiftKey }: MouseEvent): boolean =>
  !defaultPrevented && button === 0 && !metaKey && !ctrlKey && !shiftKey;

const isScreen = ({ target, origin, pathname }: HTMLAnchorElement): boolean =>
  target === '' && origin === location.origin && `${pathname}/`.startsWith(`${BASE}/`);

/** Follows links between screens without a page load. */
export const followLinks = (): void => {
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || link.hash !== '' || !isPlain(event) || !isScreen(link)) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
};
