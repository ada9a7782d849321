import { DomainError } from '../domain-error.ts';
import type { OrganizationEvent } from '../events.ts';
import type { RateLimits } from '../rate-limits.ts';
import type { Organization } from './organization.ts';

export interface CreateOrganization {
  readonly organizationId: string;
  readonly name: string;
  readonly ceilings: RateLimits | null;
}

export const createOrganization = (state: Organization, command: CreateOrganization): readonly OrganizationEvent[] => {
  if (state.status !== 'absent') throw new DomainError('resource_conflict', 'organization exists already');
  return [{ type: 'OrganizationCreated', data: { ...command } }];
};
