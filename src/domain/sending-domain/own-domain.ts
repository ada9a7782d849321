import { DomainError } from '../domain-error.ts';
import { requireOwn } from '../ownership.ts';
import type { ExistingSendingDomain, SendingDomain } from './sending-domain.ts';

/** The domain, if it is the caller's and was not deleted. @throws {DomainError} `not_found`, `other_organization`. */
export const requireOwnDomain = (state: SendingDomain, organizationId: string): ExistingSendingDomain => {
  const domain = requireOwn(state, organizationId, 'domain');
  if (domain.status === 'deleted') throw new DomainError('not_found', 'domain not found');
  return domain;
};
