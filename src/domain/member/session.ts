import { type Aggregate, requireOwn } from '../kernel/aggregate.ts';
import { sha256 } from '../kernel/digest.ts';
import { DomainError } from '../kernel/errors.ts';
import type { MemberEvent, SessionEvent } from '../kernel/events.ts';
import { formatId } from '../kernel/ids.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import { type OrganizationSettings, SESSION_HOURS } from '../organization/events.ts';
import type { Proof } from './events.ts';
import {
  expiryAfter,
  INVITATION_MINUTES,
  LINK_MINUTES,
  linkInvalid,
  MAILED_LINKS_MAX,
  MAILED_LINKS_PER_NETWORK_MAX,
  type Member,
  type Members,
  openLinks,
  passkeyInvalid,
  requireMember,
} from './member.ts';

/** A session: a browser in which a member has signed in. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

type Limits = Pick<OrganizationSettings, 'sessionIdleMinutes' | 'sessionHours'>;

/** Idle time after which a session expires. The default outlasts a working day with its breaks, but not a night. */
export const idleMsOf = ({ sessionIdleMinutes }: Limits): number => sessionIdleMinutes * MINUTE_MS;

/** Longest lifetime of a session, however often it is used. */
export const SESSION_MS = SESSION_HOURS.max * HOUR_MS;

/** Expiry of a session, however often it is used. @param limits current limits of its organization. */
export const endOfSession = ({ startedAt, expiresAt }: ExistingSession, { sessionHours }: Limits): Date =>
  new Date(Math.min(Date.parse(expiresAt), Date.parse(startedAt) + sessionHours * HOUR_MS));
/**
 * Validity of a reauthentication. Higher: someone who finds the browser open can do more. Lower: members must
 * reauthenticate more often.
 */
export const PRESENCE_MINUTES = 10;

export interface ExistingSession {
  readonly status: 'active' | 'ended';
  readonly sessionId: string;
  readonly memberId: string;
  readonly organizationId: string;
  /** SHA-256 of the cookie value, in hex. */
  readonly secretHash: string;
  readonly proof: Proof;
  readonly startedAt: string;
  /** Vault id of the address and user agent that signed in; null: not stored. */
  readonly originId: string | null;
  /** Last time the member proved their identity. ISO 8601. */
  readonly presentAt: string;
  /** ISO 8601. */
  readonly expiresAt: string;
}

/** `spent`: the proof reauthenticated the member of another session, so that this session never starts. */
type Session =
  | { readonly status: 'absent' }
  | ExistingSession
  | { readonly status: 'spent'; readonly organizationId: string };

export const session: Aggregate<Session, SessionEvent> = {
  category: CATEGORIES.session,
  initial: { status: 'absent' },
  evolve: (state, event, { organizationId, occurredAt, originId = null }) => {
    switch (event.type) {
      case 'SessionStarted':
        return {
          status: 'active',
          ...event.data,
          organizationId,
          startedAt: occurredAt,
          presentAt: occurredAt,
          originId,
        };
      case 'SessionEnded':
        return state.status === 'active' ? { ...state, status: 'ended' } : state;
      case 'PresenceProven':
        return { status: 'spent', organizationId };
      default:
        return event satisfies never;
    }
  },
};

export const usedOnce = (proof: Proof): string => {
  switch (proof.kind) {
    case 'link':
      return proof.linkHash;
    case 'passkey':
      return proof.challengeHash;
    case 'oidc':
      return proof.transactionHash;
    default:
      return proof satisfies never;
  }
};

const usedBefore = ({ kind }: Proof): DomainError => {
  switch (kind) {
    case 'link':
      return linkInvalid();
    case 'passkey':
      return passkeyInvalid();
    case 'oidc':
      return oidcInvalid();
    default:
      return kind satisfies never;
  }
};

/**
 * Derived from the link, from the challenge that a passkey signed, or from the transaction with a provider. If two
 * browsers use a proof at once, one starts the session and the stream rejects the other.
 */
export const sessionIdOf = (proof: Proof): string => formatId('ses', sha256(`session of ${usedOnce(proof)}`));

interface StartSession extends Pick<ExistingSession, 'sessionId' | 'memberId' | 'secretHash' | 'proof' | 'expiresAt'> {
  readonly now: Date;
}

/**
 * Time for which a browser that lost the response can repeat the request. Higher: so can anyone who has a copy of it.
 */
const REPEAT_MS = 2 * MINUTE_MS;

/** Whether the same browser repeats the request. Only that browser can know the value. */
const isRepeated = (state: Session, { secretHash, now }: StartSession): boolean =>
  state.status === 'active' &&
  state.secretHash === secretHash &&
  now.getTime() - Date.parse(state.startedAt) < REPEAT_MS;

/**
 * Rejects a proof that was used before.
 * @throws {DomainError} `sign_in_link_invalid`, `passkey_invalid`, `oidc_invalid`.
 */
const requireUnused = ({ status }: Session, proof: Proof): void => {
  if (status !== 'absent') throw usedBefore(proof);
};

/** @throws {DomainError} `sign_in_link_invalid`, `passkey_invalid`, `oidc_invalid` if the proof was used before. */
export const startSession = (state: Session, command: StartSession): readonly SessionEvent[] => {
  const { sessionId, memberId, secretHash, proof, expiresAt } = command;
  if (isRepeated(state, command)) return [];
  requireUnused(state, proof);
  return [{ type: 'SessionStarted', data: { sessionId, memberId, secretHash, proof, expiresAt } }];
};

/** Ends a session. An ended session is no change. @throws {DomainError} `not_found`, `other_organization`. */
export const endSession = (state: Session, organizationId: string): readonly SessionEvent[] => {
  const own = requireOwn(state, organizationId, 'session');
  if (own.status === 'spent') throw new DomainError('not_found', 'session not found');
  return own.status === 'ended' ? [] : [{ type: 'SessionEnded', data: { sessionId: own.sessionId } }];
};

interface ProvePresence {
  /** Id of the session whose member reauthenticates. */
  readonly sessionId: string;
  readonly memberId: string;
  readonly proof: Proof;
}

/**
 * Records a reauthentication.
 * @param state state of the session that the proof would start.
 * @throws {DomainError} `sign_in_link_invalid`, `passkey_invalid` if the proof was used before.
 */
export const provePresence = (
  state: Session,
  { sessionId, memberId, proof }: ProvePresence,
): readonly SessionEvent[] => {
  requireUnused(state, proof);
  return [{ type: 'PresenceProven', data: { sessionId, memberId, proof } }];
};

/** Whether the member has reauthenticated recently. */
export const isPresent = ({ presentAt }: Pick<ExistingSession, 'presentAt'>, now: Date): boolean =>
  now.getTime() < presentUntil(presentAt).getTime();

/** @param presentAt ISO 8601. */
export const presentUntil = (presentAt: string): Date => new Date(Date.parse(presentAt) + PRESENCE_MINUTES * 60_000);

/**
 * Time for which a member without a passkey, who signed in by an operator's link, may add the first one. Higher: a
 * browser that was left open gives away more. Lower: the first owner, who cannot reauthenticate in any other way, is
 * locked out.
 */
const FIRST_PASSKEY_MINUTES = 60;

/** Time until which the member may add their first passkey without reauthentication (ISO 8601); null: not allowed. */
export const firstPasskeyUntil = (
  { proof, startedAt }: Pick<ExistingSession, 'proof' | 'startedAt'>,
  { passkeys }: Pick<Member, 'passkeys'>,
): string | null =>
  proof.kind === 'link' && proof.operator === true && passkeys.length === 0
    ? new Date(Date.parse(startedAt) + FIRST_PASSKEY_MINUTES * MINUTE_MS).toISOString()
    : null;

/** The message does not reveal what is wrong with the provider's response. */
export const oidcInvalid = (): DomainError =>
  new DomainError('oidc_invalid', 'this sign-in cannot be completed: start again in the same browser');

interface CreateSignInLink {
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

interface MailSignInLink {
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
    throw new DomainError(
      'rate_limit_exceeded',
      `this member already has ${max} mailed links that work: use one of them`,
      {
        retryAfterSeconds: Math.ceil((Date.parse(oldest.expiresAt) - Date.parse(now)) / 1000),
      },
    );
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

/**
 * PORT: the OpenID provider at which members sign in (OpenID Connect Core 1.0, authorization code flow with PKCE).
 * Adapter: `adapters/openid-connect.ts`.
 */

/** One sign-in at the provider. It ties the provider's response to the browser that started it. */
export interface OidcTransaction {
  readonly state: string;
  readonly nonce: string;
  /** RFC 7636 §4.1. */
  readonly codeVerifier: string;
}

/** The provider's response through the browser (RFC 6749 §4.1.2, RFC 9207 §2). */
interface AuthorizationAnswer {
  readonly code: string;
  readonly state: string;
  /** Absent if the provider does not identify itself. */
  readonly issuer?: string | undefined;
}

/** The person who signed in, as confirmed by the provider. */
export interface Identity {
  readonly issuer: string;
  /** Null if the provider states none. */
  readonly address: string | null;
  /** Whether the provider has verified that the address belongs to the person. */
  readonly isVerified: boolean;
}

/** The provider does not respond, or not as an OpenID provider. A retry may succeed. */
export class IdentityProviderUnavailable extends Error {
  override readonly name = 'IdentityProviderUnavailable';
}

export interface IdentityProvider {
  /** Host of the issuer, for display. */
  readonly host: string;
  /**
   * URL at which the browser signs in.
   * @throws {IdentityProviderUnavailable}
   */
  authorizationUrl(transaction: OidcTransaction, redirectUri: string): Promise<string>;
  /**
   * Exchanges the code for the person's identity.
   * @returns null if the response is not from this provider, or not for this transaction.
   * @throws {IdentityProviderUnavailable}
   */
  identify(answer: AuthorizationAnswer, transaction: OidcTransaction, redirectUri: string): Promise<Identity | null>;
}
