import { SECOND_LEVEL_LABELS } from './second-level-labels.ts';

const COUNTRY_CHARACTERS = 2;
const SITE_LABELS = 2;

/**
 * The part of a host that belongs to one owner: its last two labels, or three under suffixes like `co.uk`. The limit
 * of it: there is no list of public suffixes here, so two customers of `github.io` are one site.
 * @param host lower case, without a dot at its end; IP addresses are their own site.
 */
export const siteOf = (host: string): string => {
  const labels = host.split('.');
  const top = labels.at(-1) ?? '';
  if (host.startsWith('[') || /^\d+$/.test(top)) return host;
  const isSuffix = top.length === COUNTRY_CHARACTERS && SECOND_LEVEL_LABELS.has(labels.at(-SITE_LABELS) ?? '');
  return labels.slice(isSuffix ? -SITE_LABELS - 1 : -SITE_LABELS).join('.');
};
