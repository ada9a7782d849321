/** An auditor: an outsider who reads an organization's audit log with a personal token. */
import { type Aggregate, requireOwn } from '../kernel/aggregate.ts';
import { DomainError } from '../kernel/errors.ts';
import type { AuditorEvent } from '../kernel/events.ts';
import { CATEGORIES } from '../kernel/streams.ts';

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
