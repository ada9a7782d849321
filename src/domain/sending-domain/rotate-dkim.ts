import type { SendingDomainEvent } from '../events.ts';
import type { DkimKey } from './events.ts';
import { requireOwnDomain } from './own-domain.ts';
import type { SendingDomain } from './sending-domain.ts';

export interface RotateDkim {
  readonly organizationId: string;
  readonly keys: readonly DkimKey[];
}

/**
 * Gives the domain new keys beside those that sign; they take over once they are seen in the DNS. Keys that wait for
 * that already have signed nothing and are forgotten.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const rotateDkim = (
  state: SendingDomain,
  { organizationId, keys }: RotateDkim,
): readonly SendingDomainEvent[] => {
  const { domainId } = requireOwnDomain(state, organizationId);
  return [{ type: 'DkimKeysAdded', data: { domainId, keys: [...keys] } }];
};
