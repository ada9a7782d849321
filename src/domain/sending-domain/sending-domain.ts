import { type Aggregate, requireOwn } from '../kernel/aggregate.ts';
import { sha256 } from '../kernel/digest.ts';
import { DomainError } from '../kernel/errors.ts';
import type { SendingDomainEvent } from '../kernel/events.ts';
import { formatId } from '../kernel/ids.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import { NO_TRACKING, type Tracking } from '../tracking/tracking.ts';
import { activateDkim, addDkim, type DomainDkim, firstDkim } from './dkim.ts';
import type { Branding, VerificationMethod } from './events.ts';

/** State of a verified domain with a required record that is missing or wrong, or was for too long. */
export type DomainTrouble =
  | { readonly status: 'degraded'; readonly since: string; readonly failsAt: string }
  | { readonly status: 'failed'; readonly since: string };

export interface ExistingSendingDomain {
  readonly status: 'registered' | 'deleted';
  readonly domainId: string;
  readonly organizationId: string;
  readonly name: string;
  readonly token: string;
  readonly createdAt: string;
  /** Last verification; null while pending. */
  readonly verification: { readonly method: VerificationMethod; readonly verifiedAt: string } | null;
  readonly trouble: DomainTrouble | null;
  readonly dkim: DomainDkim;
  /** Presentation of the sender on pages for recipients; null to use only the domain's name. */
  readonly branding: Branding | null;
  /** Default for its mail; messages can override it. */
  readonly tracking: Tracking;
}

export type SendingDomain = { readonly status: 'absent' } | ExistingSendingDomain;

/**
 * Derived from organization and name, so that the log itself rejects a second registration by the same organization.
 */
export const sendingDomainId = (organizationId: string, name: string): string =>
  formatId('dom', sha256(`${organizationId}\0${name}`));

/** The TXT record that proves ownership. */
export const verificationRecord = (domain: { name: string; token: string }): { host: string; value: string } => ({
  host: `_outbox.${domain.name}`,
  value: `outbox-verification=${domain.token}`,
});

export const DOMAIN_LIVES = ['pending', 'verified', 'degraded', 'failed'] as const;
export type DomainLife = (typeof DOMAIN_LIVES)[number];

/** State of a domain. A verification by capture is valid only while mail is captured; records do not matter then. */
export const lifeOf = ({ verification, trouble }: ExistingSendingDomain, capturing: boolean): DomainLife => {
  if (verification === null || (!capturing && verification.method !== 'dns')) return 'pending';
  return capturing || trouble === null ? 'verified' : trouble.status;
};

/** Whether live mail may be sent from the domain. */
export const isVerified = (domain: ExistingSendingDomain, capturing: boolean): boolean => {
  const life = lifeOf(domain, capturing);
  return life === 'verified' || life === 'degraded';
};

export const sendingDomain: Aggregate<SendingDomain, SendingDomainEvent> = {
  category: CATEGORIES.domain,
  initial: { status: 'absent' },
  evolve: (state, event, { organizationId, occurredAt }) => {
    if (event.type === 'DomainRegistered') {
      const { dkim: keys, ...data } = event.data;
      const dkim = firstDkim(keys, occurredAt);
      const checked = {
        organizationId,
        createdAt: occurredAt,
        verification: null,
        trouble: null,
        dkim,
        branding: null,
        tracking: NO_TRACKING,
      };
      return { status: 'registered', ...data, ...checked };
    }
    if (state.status === 'absent') return state;
    switch (event.type) {
      case 'DomainDeleted':
        return { ...state, status: 'deleted', verification: null, trouble: null };
      case 'DomainVerified':
        return { ...state, verification: { method: event.data.method, verifiedAt: occurredAt }, trouble: null };
      case 'DomainDegraded':
        return { ...state, trouble: { status: 'degraded', since: occurredAt, failsAt: event.data.failsAt } };
      case 'DomainFailed':
        return { ...state, trouble: { status: 'failed', since: occurredAt } };
      case 'DkimKeysAdded':
        return { ...state, dkim: addDkim(state.dkim, event.data.keys, occurredAt) };
      case 'DkimKeysActivated':
        return { ...state, dkim: activateDkim(state.dkim, event.data, occurredAt) };
      case 'DomainBrandingChanged':
        return { ...state, branding: event.data.branding };
      case 'DomainTrackingChanged':
        return { ...state, tracking: event.data.tracking };
      case 'DkimKeysDestroyed':
        return state; // see `former-keys.ts`: the state no longer contains these keys
      default:
        return event satisfies never;
    }
  },
};

/**
 * Returns the domain if it belongs to the caller and was not deleted.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const requireOwnDomain = (state: SendingDomain, organizationId: string): ExistingSendingDomain => {
  const domain = requireOwn(state, organizationId, 'domain');
  if (domain.status === 'deleted') throw new DomainError('not_found', 'domain not found');
  return domain;
};
