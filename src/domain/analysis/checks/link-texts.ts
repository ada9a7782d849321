import { type Check, discovery } from '../discovery.ts';
import type { LinkFact } from '../facts.ts';
import { type NamedHost, namedHosts } from '../hosts/named-host.ts';
import { siteOf } from '../hosts/site-of.ts';

const RULES = { url: 'link-text-mismatch', name: 'link-text-other-name' } as const;

/** A host that the text names, when the link goes to another site; null where they agree or nothing is named. */
const otherHost = ({ target, text }: LinkFact): (NamedHost & { readonly goesTo: string }) | null => {
  if (target.kind !== 'web') return null;
  const named = namedHosts(text);
  const site = siteOf(target.host);
  if (named.some(({ host }) => siteOf(host) === site)) return null;
  const first = named.find(({ kind }) => kind === 'url') ?? named[0];
  return first === undefined ? null : { ...first, goesTo: target.host };
};

/** Links that say they go elsewhere than they go. */
export const linkTexts: Check = function* ({ html }) {
  for (const link of html?.links ?? []) {
    const other = otherHost(link);
    if (other === null) continue;
    const { host, kind, goesTo } = other;
    yield discovery(RULES[kind], 'html', () => `the link’s text names ${host}, but it goes to ${goesTo}`, link.offset);
  }
};
