import { requireOwn } from '../ownership.ts';
import { Refusal } from '../refusal.ts';
import type { ExistingSendingDomain, SendingDomain } from './sending-domain.ts';

/** The domain, if it is the caller's and was not deleted. @throws {Refusal} `not_found`, `other_organization`. */
export const requireOwnDomain = (state: SendingDomain, organizationId: string): ExistingSendingDomain => {
  const domain = requireOwn(state, organizationId, 'domain');
  if (domain.status === 'deleted') throw new Refusal('not_found', 'domain not found');
  return domain;
};
