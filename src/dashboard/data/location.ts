import { useLayoutEffect } from 'preact/hooks';
import { createStore, useStore } from './store.ts';

/** The URL holds the whole view: filters, tab, selection and environment. Any view can therefore be shared. */

const BASE = '/dashboard';

export interface Place {
  /** Path below `/dashboard`, without a trailing slash: ``, `/messages`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

export type Environment = 'live' | 'test';

const placeAt = ({ pathname, search }: Pick<Location, 'pathname' | 'search'>): Place => ({
  path: pathname.slice(BASE.length).replace(/\/+$/, ''),
  query: new URLSearchParams(search),
});
const here = (): Place => placeAt(location);

const place = createStore(here());

/**
 * Keeps a screen that holds something which leaving it would lose. `secret`: it is shown once, so that it stays until it is
 * copied. `unsaved`: what was typed; the person is asked first.
 */
type Hold = { readonly kind: 'secret' | 'unsaved' };
const holds = new Set<Hold>();

/** The move that waits for an answer; null: none does. */
export const leaving = createStore<{ go(): void } | null>(null);

/** @returns true if the screen stays for now. */
const isKept = (go: () => void): boolean => {
  if (holds.size === 0) return false;
  const leave = (): void => {
    holds.clear();
    go();
  };
  if (![...holds].some(({ kind }) => kind === 'secret')) leaving.set({ go: leave });
  return true;
};

/** Holds the screen while the condition is met. */
export const useHold = (kind: Hold['kind'], isHeld: boolean): void =>
  useLayoutEffect(() => {
    if (!isHeld) return;
    const held: Hold = { kind };
    holds.add(held);
    return () => {
      holds.delete(held);
    };
  }, [kind, isHeld]);

/** Forgets everything: it belongs to another member. */
export const dropHolds = (): void => holds.clear();

/** Another environment shows the screen anew. */
const isElsewhere = (one: Place, other: Place): boolean =>
  one.path !== other.path || environmentOf(one) !== environmentOf(other);

const addressOf = ({ path, query }: Place): string => {
  const text = query.toString();
  return `${BASE}${path}${text === '' ? '' : `?${text}`}`;
};

addEventListener('popstate', () => {
  const [shown, asked] = [place.get(), here()];
  // The browser has already changed the address.
  if (isElsewhere(shown, asked) && isKept(() => navigate(addressOf(asked)))) {
    history.pushState(null, '', addressOf(shown));
    return;
  }
  place.set(asked);
});
addEventListener('beforeunload', (event) => {
  if (holds.size > 0) event.preventDefault();
});

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

/** The same screen in an environment. */
export const inEnvironment = (link: string, environment: Environment): string => {
  const { pathname, searchParams } = new URL(link, location.origin);
  searchParams.delete('environment');
  if (environment === 'test') searchParams.set('environment', environment);
  const text = searchParams.toString();
  return `${pathname}${text === '' ? '' : `?${text}`}`;
};

/** @param how `replace`: adds no history entry. */
export const navigate = (to: string, how: 'push' | 'replace' = 'push'): void => {
  const target = new URL(to, location.href);
  if (isElsewhere(place.get(), placeAt(target)) && isKept(() => navigate(to, how))) return;
  const isOther = target.pathname !== location.pathname;
  if (how === 'push') history.pushState(null, '', to);
  else history.replaceState(null, '', to);
  place.set(here());
  if (isOther) scrollTo(0, 0);
};

/** The current screen with some parameters changed; null removes one. */
export const withParameters = (changes: Parameters): string => {
  const { path, query } = place.get();
  const changed = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value) changed.set(name, value);
    else changed.delete(name);
  }
  return addressOf({ path, query: changed });
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
