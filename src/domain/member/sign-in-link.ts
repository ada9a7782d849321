/** Links by which members accept an invitation or sign in: how long they work, and how many at once. */

/** A mail scanner or a shared screen has no longer. Shorter loses people who are called away. */
export const LINK_MINUTES = 15;
/** Longer leaves forgotten ways in open. Shorter misses people who are on holiday. */
export const INVITATION_DAYS = 7;
export const INVITATION_MINUTES = INVITATION_DAYS * 24 * 60;
const MINUTE_MS = 60_000;

/**
 * Mailed links of a member that work at once. Higher: strangers fill their mailbox. Lower: a few lost mails lock the
 * member out. When the limit is reached, the member has this many links that work.
 */
export const MAILED_LINKS_MAX = 5;
/**
 * Links among these that one network asked for. Higher: one stranger uses up all of them. Lower: a member whose mail gets
 * lost cannot ask again from the same place.
 */
export const MAILED_LINKS_PER_NETWORK_MAX = 3;
/**
 * Links of a member that were handed over and work at once; another one ends the oldest. Only the operator and those who
 * manage members make them. Higher: more open ways in. Lower: handing over a second link ends the first.
 */
export const HANDED_LINKS_MAX = 5;

/** The first start prints a link that works this long: time to read a page or two while installing. */
export const FIRST_LINK_MINUTES = 60;

export interface SignInLink {
  /** SHA-256 of the token, hex. */
  readonly linkHash: string;
  /** ISO 8601. */
  readonly expiresAt: string;
}

/** Links of the operator were printed by the first start or the command line, those of `member` by the API. */
export type LinkSource = 'operator' | 'member' | 'mail';

export interface MemberLink extends SignInLink {
  readonly source: LinkSource;
  /** Mark of the network that asked for a mailed link; null: none is known. */
  readonly network: string | null;
}

/** @param actor who made the link; `mailed` ones are `mail`. */
export const linkSourceOf = (actor: string): LinkSource =>
  actor === 'operator' || actor === 'service' ? 'operator' : 'member';

/** @param now ISO 8601. */
export const expiryAfter = (now: string, minutes: number): string =>
  new Date(Date.parse(now) + minutes * MINUTE_MS).toISOString();

/** @param now ISO 8601. */
export const openLinks = (links: readonly MemberLink[], now: string): readonly MemberLink[] =>
  links.filter(({ expiresAt }) => expiresAt > now);

/** Drops links that are over, and the oldest of too many that were handed over. @param now ISO 8601. */
export const addLink = (links: readonly MemberLink[], link: MemberLink, now: string): readonly MemberLink[] => {
  const open = [...openLinks(links, now), link];
  const handed = open.filter(({ source }) => source !== 'mail');
  const ended = new Set(handed.slice(0, -HANDED_LINKS_MAX));
  return open.filter((one) => !ended.has(one));
};
