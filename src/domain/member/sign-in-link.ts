/** Links with which members accept an invitation or sign in: their lifetime, and how many may be valid at once. */

/** Higher: more time for a mail scanner or an onlooker to use the link. Lower: people who are interrupted lose it. */
export const LINK_MINUTES = 15;
/** Higher: forgotten links stay usable. Lower: people on holiday miss their invitation. */
export const INVITATION_DAYS = 7;
export const INVITATION_MINUTES = INVITATION_DAYS * 24 * 60;
const MINUTE_MS = 60_000;

/**
 * Maximum number of a member's mailed links that are valid at once. Higher: strangers can fill the member's mailbox.
 * Lower: a few lost mails lock the member out. When the limit is reached, the member still has this many valid links.
 */
export const MAILED_LINKS_MAX = 5;
/**
 * Maximum number of these that one network may request. Higher: one stranger can use up all of them. Lower: a member
 * whose mail gets lost cannot ask again from the same place.
 */
export const MAILED_LINKS_PER_NETWORK_MAX = 3;
/**
 * Maximum number of a member's handed-over links that are valid at once. Another one ends the oldest. Only the operator
 * and those who manage members create them. Higher: more links that let someone in. Lower: handing over a second link
 * ends the first.
 */
export const HANDED_LINKS_MAX = 5;

/** Lifetime of the link that the first start prints: time to read a page or two during installation. */
export const FIRST_LINK_MINUTES = 60;

export interface SignInLink {
  /** SHA-256 of the token, in hex. */
  readonly linkHash: string;
  /** ISO 8601. */
  readonly expiresAt: string;
}

/** `operator`: printed by the first start or the command line. `member`: created through the API. */
export type LinkSource = 'operator' | 'member' | 'mail';

export interface MemberLink extends SignInLink {
  readonly source: LinkSource;
  /** Mark of the network that requested a mailed link; null if unknown. */
  readonly network: string | null;
}

/** @param actor creator of the link. The source of mailed links is always `mail`. */
export const linkSourceOf = (actor: string): LinkSource =>
  actor === 'operator' || actor === 'service' ? 'operator' : 'member';

/** @param now ISO 8601. */
export const expiryAfter = (now: string, minutes: number): string =>
  new Date(Date.parse(now) + minutes * MINUTE_MS).toISOString();

/** @param now ISO 8601. */
export const openLinks = (links: readonly MemberLink[], now: string): readonly MemberLink[] =>
  links.filter(({ expiresAt }) => expiresAt > now);

/** Drops expired links, and the oldest handed-over links beyond the maximum. @param now ISO 8601. */
export const addLink = (links: readonly MemberLink[], link: MemberLink, now: string): readonly MemberLink[] => {
  const open = [...openLinks(links, now), link];
  const handed = open.filter(({ source }) => source !== 'mail');
  const ended = new Set(handed.slice(0, -HANDED_LINKS_MAX));
  return open.filter((one) => !ended.has(one));
};
