import type { Aggregate } from '../decider.ts';
import { sha256 } from '../digest.ts';
import type { StreamName } from '../event-store.ts';
import type { SendingDomainEvent } from '../events.ts';
import { formatId } from '../ids.ts';
import type { VerificationMethod } from './events.ts';

export interface ExistingSendingDomain {
  readonly status: 'registered' | 'deleted';
  readonly domainId: string;
  readonly organizationId: string;
  readonly name: string;
  readonly token: string;
  readonly createdAt: string;
  /** How it was last verified; null while pending. */
  readonly verification: { readonly method: VerificationMethod; readonly verifiedAt: string } | null;
}

export type SendingDomain = { readonly status: 'absent' } | ExistingSendingDomain;

export const sendingDomainStream = (domainId: string): StreamName => `domain-${domainId}`;

/** One organization has a name once: the id follows from both, so the log itself refuses the second. */
export const sendingDomainId = (organizationId: string, name: string): string =>
  formatId('dom', sha256(`${organizationId}\0${name}`));

/** TXT record that proves ownership. */
export const verificationRecord = (domain: { name: string; token: string }): { host: string; value: string } => ({
  host: `_outbox.${domain.name}`,
  value: `outbox-verification=${domain.token}`,
});

/** A verification by capture counts only while mail is captured. */
export const isVerified = (domain: ExistingSendingDomain, capturing: boolean): boolean =>
  domain.verification !== null && (capturing || domain.verification.method === 'dns');

export const sendingDomain: Aggregate<SendingDomain, SendingDomainEvent> = {
  category: 'domain',
  initial: { status: 'absent' },
  evolve: (state, event, { organizationId, occurredAt }) => {
    if (event.type === 'DomainRegistered') {
      return { status: 'registered', ...event.data, organizationId, createdAt: occurredAt, verification: null };
    }
    if (state.status === 'absent') return state;
    switch (event.type) {
      case 'DomainDeleted':
        return { ...state, status: 'deleted', verification: null };
      case 'DomainVerified':
        return { ...state, verification: { method: event.data.method, verifiedAt: occurredAt } };
      default:
        return event satisfies never;
    }
  },
};
