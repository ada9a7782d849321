import { canonicalJson } from '../digest.ts';
import { DomainError } from '../domain-error.ts';
import type { OrganizationEvent } from '../events.ts';
import type { RateLimits } from '../rate-limits.ts';
import type { Organization } from './organization.ts';

/** Highest limits its keys may have from now on; null: none. The same again is nothing. @throws {DomainError} `not_found`. */
export const setCeilings = (state: Organization, ceilings: RateLimits | null): readonly OrganizationEvent[] => {
  if (state.status === 'absent') throw new DomainError('not_found', 'organization not found');
  if (canonicalJson(ceilings) === canonicalJson(state.ceilings)) return [];
  return [{ type: 'OrganizationCeilingsSet', data: { organizationId: state.organizationId, ceilings } }];
};
