import { DomainError } from '../kernel/errors.ts';
import type { MemberEvent } from '../kernel/events.ts';
import { type Member, type Members, requireMember } from './member.ts';
import {
  expiryAfter,
  INVITATION_MINUTES,
  LINK_MINUTES,
  MAILED_LINKS_MAX,
  MAILED_LINKS_PER_NETWORK_MAX,
  openLinks,
} from './sign-in-link.ts';

export interface CreateSignInLink {
  readonly memberId: string;
  /** SHA-256 of the token, in hex. */
  readonly linkHash: string;
  /** ISO 8601. */
  readonly now: string;
  /** Default: `LINK_MINUTES`, or `INVITATION_DAYS` for a member who has not joined yet. */
  readonly minutes?: number | undefined;
}

/** Adds a link, up to `HANDED_LINKS_MAX`. Earlier links stay valid. @throws {DomainError} `not_found`. */
export const createSignInLink = (
  state: Members,
  { memberId, linkHash, now, minutes }: CreateSignInLink,
): readonly MemberEvent[] => {
  const { status } = requireMember(state, memberId);
  const expiresAt = expiryAfter(now, minutes ?? (status === 'joined' ? LINK_MINUTES : INVITATION_MINUTES));
  return [{ type: 'SignInLinkCreated', data: { memberId, linkHash, expiresAt } }];
};

export interface MailSignInLink {
  readonly memberId: string;
  readonly linkHash: string;
  /** ISO 8601. */
  readonly now: string;
  /** Mark of the requesting network. */
  readonly network: string;
}

/**
 * Adds a mailed link. Earlier links stay valid. A member who has not joined is mailed no link: invitations are accepted
 * through their own link.
 * @throws {DomainError} `not_found`; `rate_limit_exceeded` if the maximum number of mailed links is valid, in total or
 * for the requesting network.
 */
export const mailSignInLink = (
  state: Members,
  { memberId, linkHash, now, network }: MailSignInLink,
): readonly MemberEvent[] => {
  const member = requireMember(state, memberId);
  if (member.status !== 'joined') throw new DomainError('not_found', 'the member has not accepted the invitation yet');
  const mailed = openLinks(member.links, now).filter(({ source }) => source === 'mail');
  const own = mailed.filter((link) => link.network === network);
  const [open, max] =
    own.length >= MAILED_LINKS_PER_NETWORK_MAX ? [own, MAILED_LINKS_PER_NETWORK_MAX] : [mailed, MAILED_LINKS_MAX];
  const [oldest] = open;
  if (oldest !== undefined && open.length >= max)
    throw new DomainError('rate_limit_exceeded', `${max} mailed links of this member work already: use one of them`, {
      retryAfterSeconds: Math.ceil((Date.parse(oldest.expiresAt) - Date.parse(now)) / 1000),
    });
  const expiresAt = expiryAfter(now, LINK_MINUTES);
  return [{ type: 'SignInLinkCreated', data: { memberId, linkHash, expiresAt, mailed: true, network } }];
};

/**
 * Expiry of the last open invitation (ISO 8601); null if the member has joined or has no valid link.
 * @param now ISO 8601.
 */
export const invitationExpiry = (member: Member, now: string): string | null => {
  if (member.status === 'joined') return null;
  return openLinks(member.links, now).reduce<string | null>(
    (latest, { expiresAt }) => (latest === null || expiresAt > latest ? expiresAt : latest),
    null,
  );
};
