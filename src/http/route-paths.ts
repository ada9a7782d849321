import { isRouteName, methodAndUrl, ROUTES } from './route-table.ts';

/** Methods of a path, in the order of the table; empty: no such path. */
export const methodsOf = (path: string): readonly string[] => {
  const named = PATHS.filter(({ url }) => url === path);
  const found = named.length > 0 ? named : PATHS.filter(({ pattern }) => pattern.test(path));
  return [...new Set(found.map(({ method }) => method))];
};

/**
 * Whether a path without parameters was matched by another route's `:id` because of its method: `GET
 * /v1/messages/send`.
 */
export const isNamedElsewhere = (path: string, routeUrl: string | undefined): boolean =>
  routeUrl?.includes(':') === true && NAMED.has(path);

const PATHS = Object.keys(ROUTES)
  .filter(isRouteName)
  .map((name) => ({ name, ...methodAndUrl(name) }))
  .map(({ name, method, url }) => ({
    name,
    method,
    url,
    pattern: new RegExp(`^${url.replaceAll(/:\w+/g, '[^/]+')}$`),
  }));

/** Paths without a parameter. */
const NAMED: ReadonlySet<string> = new Set(PATHS.map(({ url }) => url).filter((url) => !url.includes(':')));

const PAGES = PATHS.filter(({ name }) => 'page' in ROUTES[name]);

/** Whether the URL is of a page for people, with any method. */
export const isPage = (url: string): boolean => {
  const [path = ''] = url.split('?');
  return PAGES.some(({ pattern }) => pattern.test(path));
};
