import {
  isIpAddress,
  isPrivateHost,
  type LinkFact,
  type NamedHost,
  namedHosts,
  quoted,
  siteOf,
  type Target,
  URL_SHORTENERS,
} from '../../../lib/html/html.ts';
import { type Check, type Discovery, discovery, type MessageFacts } from '../facts.ts';
import type { RuleName } from '../rule-table.ts';
import { hasMarker } from './texts.ts';

/** Rules about links: their targets, their texts and their hosts. */

type Told = readonly [rule: RuleName, sentence: (link: LinkFact) => string];

const BY_KIND: Readonly<Partial<Record<Target['kind'], Told>>> = {
  script: ['link-script', ({ href }) => `a link runs ${quoted(href)}`],
  data: ['link-script', ({ href }) => `a link opens the data URI ${quoted(href)}`],
  file: ['link-private-host', ({ href }) => `a link goes to ${quoted(href)}, a file on the sender’s machine`],
  malformed: ['link-malformed', ({ href }) => `a link’s address ${quoted(href)} is not a whole one`],
  empty: ['link-empty', ({ text }) => `the link ${quoted(text)} has no target`],
};

/** An unfilled template variable in a URL is reported by its own rule. */
const isOpen = ({ target, href }: LinkFact): boolean => target.kind === 'malformed' && hasMarker(href);

function* telling(link: LinkFact): Generator<Discovery> {
  const told = BY_KIND[link.target.kind];
  if (told === undefined || isOpen(link)) return;
  const [rule, sentence] = told;
  yield discovery(rule, 'html', () => sentence(link), link.offset);
}

/** Reports links that have no target, or whose target is not a web page. */
export const linkTargets: Check = function* ({ html }) {
  for (const link of html?.links ?? []) yield* telling(link);
};

const RULES = { url: 'link-text-mismatch', name: 'link-text-other-name' } as const;

/** A host named in the text when the link goes to another site; null if they agree or the text names none. */
const otherHost = ({ target, text }: LinkFact): (NamedHost & { readonly goesTo: string }) | null => {
  if (target.kind !== 'web') return null;
  const named = namedHosts(text);
  const site = siteOf(target.host);
  if (named.some(({ host }) => siteOf(host) === site)) return null;
  const first = named.find(({ kind }) => kind === 'url') ?? named[0];
  return first === undefined ? null : { ...first, goesTo: target.host };
};

/** Reports links whose text names another site than the target. */
export const linkTexts: Check = function* ({ html }) {
  for (const link of html?.links ?? []) {
    const other = otherHost(link);
    if (other === null) continue;
    const { host, kind, goesTo } = other;
    yield discovery(RULES[kind], 'html', () => `the link’s text names ${host}, but it goes to ${goesTo}`, link.offset);
  }
};

/** The user name before the @ is not a host but looks like one: `https://bank.example@evil.example`. */
const USER_NAME = /^\s*https?:[\\/]*[^\\/?#]*@/i;

interface WebLink extends LinkFact {
  readonly target: Extract<LinkFact['target'], { kind: 'web' }>;
}

const isWeb = (link: LinkFact): link is WebLink => link.target.kind === 'web';

function* judged(field: string, { href, target: { host, plain }, offset }: WebLink): Generator<Discovery> {
  const shown = (): string => quoted(href);
  if (isPrivateHost(host)) {
    yield discovery(
      'link-private-host',
      field,
      () => `${shown()} leads to a host that recipients cannot reach`,
      offset,
    );
    return;
  }
  if (USER_NAME.test(href)) {
    yield discovery('link-user-name', field, () => `${shown()} goes to ${host}, behind a user name`, offset);
  }
  if (isIpAddress(host)) yield discovery('link-ip-address', field, () => `${shown()} names no host`, offset);
  if (URL_SHORTENERS.has(host)) {
    yield discovery('link-shortener', field, () => `${shown()} hides where it leads behind a shortener`, offset);
  }
  if (plain) yield discovery('link-plain-http', field, () => `${shown()} is not encrypted`, offset);
}

/** Reports each site other than the sender's once. */
function* otherSites(links: readonly WebLink[], own: string): Generator<Discovery> {
  const seen = new Set([siteOf(own)]);
  for (const { target, offset } of links) {
    const site = siteOf(target.host);
    if (seen.has(site)) continue;
    seen.add(site);
    const said = (): string => `links go to ${site}, which is not the sending domain ${own}`;
    yield discovery('link-other-site', 'html', said, offset);
  }
}

/** Links that are only in the plain text. Links that are also in the HTML are reported there. */
const onlyInText = ({ html, textLinks }: MessageFacts): readonly LinkFact[] => {
  const linked = new Set(html?.links.map(({ href }) => href));
  return textLinks.filter(({ href }) => !linked.has(href));
};

/** Reports suspicious hosts of links and images. */
export const linkHosts: Check = function* (facts) {
  const links = (facts.html?.links ?? []).filter(isWeb);
  for (const link of links) yield* judged('html', link);
  for (const link of onlyInText(facts).filter(isWeb)) yield* judged('text', link);
  yield* otherSites(links, facts.domain.name);
};
