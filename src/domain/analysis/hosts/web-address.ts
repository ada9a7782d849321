/** What an `href` or `src` is, for the rules about links. */
export type Target =
  | { readonly kind: 'web'; readonly host: string; readonly plain: boolean }
  | { readonly kind: 'script' | 'data' | 'empty' | 'fragment' | 'file' | 'malformed' | 'other' };

const SCHEMES: Readonly<Record<string, Exclude<Target['kind'], 'web'>>> = {
  'javascript:': 'script',
  'vbscript:': 'script',
  'data:': 'data',
  'file:': 'file',
};
/** Elsewhere an address could be relative to something; mail has no base. */
const BASE = 'about:blank';

/** Hosts end without a dot here. */
const hostOf = ({ hostname }: URL): string => (hostname.endsWith('.') ? hostname.slice(0, -1) : hostname);

/** Reads an address the way browsers do (URL Standard). */
export const targetOf = (address: string): Target => {
  const trimmed = address.trim();
  if (trimmed === '' || trimmed === '#') return { kind: 'empty' };
  if (trimmed.startsWith('#')) return { kind: 'fragment' };
  const url = URL.parse(trimmed, BASE);
  if (url === null) return { kind: 'malformed' };
  if (url.protocol === 'http:' || url.protocol === 'https:')
    return { kind: 'web', host: hostOf(url), plain: url.protocol === 'http:' };
  return { kind: SCHEMES[url.protocol] ?? 'other' };
};
