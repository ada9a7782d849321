import { type Aggregate, requireOwn } from '../kernel/aggregate.ts';
import { DomainError } from '../kernel/errors.ts';
import type { AuditEvent, AuditorEvent } from '../kernel/events.ts';
import { CATEGORIES } from '../kernel/streams.ts';

/** Public half of a signing key, and the vault id of its private half. */
export interface AuditKey {
  readonly vkey: string;
  readonly secretId: string;
}

/** The last checkpoint that was signed. */
interface SignedCheckpoint {
  readonly size: number;
  /** base64 */
  readonly root: string;
  readonly note: string;
}

/** Signing state of an organization's tree, derived from the last checkpoint and the events after it. */
export interface AuditLog {
  /** Null until the first key is added. */
  readonly signing: { readonly origin: string; readonly key: AuditKey } | null;
  /** The previous key, which still signs. */
  readonly former: AuditKey | null;
  readonly last: SignedCheckpoint | null;
  /** Reason why signing has stopped; null while it continues. */
  readonly dispute: { readonly witness: string; readonly cosignedSize: number } | null;
}

const evolve = (state: AuditLog, { type, data }: AuditEvent): AuditLog => {
  switch (type) {
    case 'AuditKeyAdded': {
      const { origin, vkey, secretId } = data;
      return {
        ...state,
        signing: { origin, key: { vkey, secretId } },
        former: state.former ?? state.signing?.key ?? null,
      };
    }
    case 'AuditKeyRetired':
      return { ...state, former: null };
    case 'CheckpointSigned': {
      const { origin, vkey, secretId, size, root, note } = data;
      return { ...state, signing: { origin, key: { vkey, secretId } }, last: { size, root, note } };
    }
    case 'AuditDisputed': {
      const { witness, cosignedSize } = data;
      return { ...state, dispute: { witness, cosignedSize } };
    }
    case 'AuditReopened':
      return { ...state, dispute: null };
    default:
      return state;
  }
};

export const auditLog: Aggregate<AuditLog, AuditEvent> = {
  category: CATEGORIES.audit,
  initial: { signing: null, former: null, last: null, dispute: null },
  evolve,
};

/** An auditor: an outsider who reads an organization's audit log with a personal token. */

export interface ExistingAuditor {
  readonly status: 'active' | 'removed';
  readonly auditorId: string;
  readonly organizationId: string;
  /** Id of the content with name and e-mail address. */
  readonly contactId: string;
  /** Whether contents of mail are disclosed too. */
  readonly contents: boolean;
  /** ISO 8601. */
  readonly expiresAt: string;
  /** Networks from which the token may be used. Empty: any. */
  readonly allowedCidrs: readonly string[];
  readonly secret: { readonly hash: string; readonly last4: string };
  readonly createdAt: string;
}

export type Auditor = { readonly status: 'absent' } | ExistingAuditor;

export const auditor: Aggregate<Auditor, AuditorEvent> = {
  category: CATEGORIES.auditor,
  initial: { status: 'absent' },
  evolve: (state, event, { organizationId, occurredAt }) => {
    if (event.type === 'AuditorAdded') {
      return { status: 'active', ...event.data, organizationId, createdAt: occurredAt };
    }
    return state.status === 'absent' ? state : { ...state, status: 'removed' };
  },
};

/**
 * Returns the auditor if it belongs to the organization and was not removed.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const requireAuditor = (state: Auditor, organizationId: string): ExistingAuditor => {
  const existing = requireOwn(state, organizationId, 'auditor');
  if (existing.status === 'removed') throw new DomainError('not_found', 'auditor not found');
  return existing;
};

/** @throws {DomainError} `not_found`, `other_organization`. */
export const removeAuditor = (state: Auditor, organizationId: string): readonly AuditorEvent[] => [
  { type: 'AuditorRemoved', data: { auditorId: requireAuditor(state, organizationId).auditorId } },
];
