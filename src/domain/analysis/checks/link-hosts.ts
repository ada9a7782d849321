import { type Check, type Discovery, discovery } from '../discovery.ts';
import type { LinkFact, MessageFacts } from '../facts.ts';
import { isIpAddress, isPrivateHost } from '../hosts/is-private-host.ts';
import { siteOf } from '../hosts/site-of.ts';
import { URL_SHORTENERS } from '../hosts/url-shorteners.ts';
import { quoted } from '../text/quoted.ts';

/** What stands before the @ is no host, and reads like one: `https://bank.example@evil.example`. */
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

/** Sites other than the sender's, each once. */
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

/** What stands in the plain text alone: what the html has too is told there. */
const onlyInText = ({ html, textLinks }: MessageFacts): readonly LinkFact[] => {
  const linked = new Set(html?.links.map(({ href }) => href));
  return textLinks.filter(({ href }) => !linked.has(href));
};

/** Where the links go, and what the images come from. */
export const linkHosts: Check = function* (facts) {
  const links = (facts.html?.links ?? []).filter(isWeb);
  for (const link of links) yield* judged('html', link);
  for (const link of onlyInText(facts).filter(isWeb)) yield* judged('text', link);
  yield* otherSites(links, facts.domain.name);
};
