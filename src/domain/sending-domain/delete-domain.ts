import type { ExistingApiKey } from '../api-key/api-key.ts';
import { type KeyAuthority, requireKeyAuthority } from '../api-key/key-authority.ts';
import type { SendingDomainEvent } from '../events.ts';
import { requireOwnDomain } from './own-domain.ts';
import type { SendingDomain } from './sending-domain.ts';

export interface DeleteDomain {
  readonly by: KeyAuthority;
  readonly organizationId: string;
  /** Keys that are bound to the domain and end with it. */
  readonly keys: readonly ExistingApiKey[];
}

/**
 * Ends the domain, the keys bound to it, and its hold on the name.
 * @throws {DomainError} `not_found`, `other_organization`; `permission_missing` where it would end a key that the caller may
 * not touch.
 */
export const deleteDomain = (
  state: SendingDomain,
  { by, organizationId, keys }: DeleteDomain,
): readonly SendingDomainEvent[] => {
  const { domainId, name } = requireOwnDomain(state, organizationId);
  for (const key of keys) requireKeyAuthority(by, key);
  return [{ type: 'DomainDeleted', data: { domainId, name } }];
};
