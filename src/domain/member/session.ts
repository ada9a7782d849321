/** A session: a browser in which a member has signed in. */
import { type Aggregate, requireOwn } from '../aggregate.ts';
import { sha256 } from '../digest.ts';
import type { SessionEvent } from '../events.ts';
import { formatId } from '../ids.ts';
import { type OrganizationSettings, SESSION_HOURS } from '../organization/events.ts';
import { CATEGORIES } from '../streams.ts';
import type { Proof } from './events.ts';
import { linkInvalid, passkeyInvalid } from './passkey.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

type Limits = Pick<OrganizationSettings, 'sessionIdleMinutes' | 'sessionHours'>;

/**
 * After this long without a request a session is over. By default longer than a working day with its breaks, and shorter
 * than a night.
 */
export const idleMsOf = ({ sessionIdleMinutes }: Limits): number => sessionIdleMinutes * MINUTE_MS;

/** After this long a session is over however often it is used. */
export const SESSION_MS = SESSION_HOURS.max * HOUR_MS;

/** When a session is over, however often it is used. @param limits of its organization, as they are. */
export const endOfSession = ({ startedAt, expiresAt }: ExistingSession, { sessionHours }: Limits): Date =>
  new Date(Math.min(Date.parse(expiresAt), Date.parse(startedAt) + sessionHours * HOUR_MS));

export interface ExistingSession {
  readonly status: 'active' | 'ended';
  readonly sessionId: string;
  readonly memberId: string;
  readonly organizationId: string;
  /** SHA-256 of the value in the cookie, hex. */
  readonly secretHash: string;
  readonly proof: Proof;
  readonly startedAt: string;
  /** ISO 8601. */
  readonly expiresAt: string;
}

export type Session = { readonly status: 'absent' } | ExistingSession;

export const session: Aggregate<Session, SessionEvent> = {
  category: CATEGORIES.session,
  initial: { status: 'absent' },
  evolve: (state, event, { organizationId, occurredAt }) => {
    if (event.type === 'SessionStarted')
      return { status: 'active', ...event.data, organizationId, startedAt: occurredAt };
    return state.status === 'absent' ? state : { ...state, status: 'ended' };
  },
};

const usedOnce = (proof: Proof): string => {
  switch (proof.kind) {
    case 'link':
      return proof.linkHash;
    case 'passkey':
      return proof.challengeHash;
    default:
      return proof satisfies never;
  }
};

/**
 * Follows from the link, or from the challenge that a passkey signed, so that of two who use it at once one starts the
 * session, and the stream refuses the other.
 */
export const sessionIdOf = (proof: Proof): string => formatId('ses', sha256(`session of ${usedOnce(proof)}`));

export type StartSession = Pick<ExistingSession, 'sessionId' | 'memberId' | 'secretHash' | 'proof' | 'expiresAt'>;

/** @throws {DomainError} `sign_in_link_invalid`, `passkey_invalid`: the proof was used before. */
export const startSession = (
  state: Session,
  { sessionId, memberId, secretHash, proof, expiresAt }: StartSession,
): readonly SessionEvent[] => {
  if (state.status !== 'absent') throw proof.kind === 'link' ? linkInvalid() : passkeyInvalid();
  return [{ type: 'SessionStarted', data: { sessionId, memberId, secretHash, proof, expiresAt } }];
};

/** One that ended already stays so. @throws {DomainError} `not_found`, `other_organization`. */
export const endSession = (state: Session, organizationId: string): readonly SessionEvent[] => {
  const { status, sessionId } = requireOwn(state, organizationId, 'session');
  return status === 'ended' ? [] : [{ type: 'SessionEnded', data: { sessionId } }];
};
