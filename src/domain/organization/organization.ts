import type { Aggregate } from '../decider.ts';
import type { StreamName } from '../event-store.ts';
import type { OrganizationEvent } from '../events.ts';
import type { RateLimits } from '../rate-limits.ts';

export type Organization =
  | { readonly status: 'absent' }
  | {
      readonly status: 'active';
      readonly organizationId: string;
      readonly name: string;
      readonly ceilings: RateLimits | null;
      readonly createdAt: string;
    };

export const organizationStream = (organizationId: string): StreamName => `organization-${organizationId}`;

export const organization: Aggregate<Organization, OrganizationEvent> = {
  category: 'organization',
  initial: { status: 'absent' },
  evolve: (_state, event, context) => {
    switch (event.type) {
      case 'OrganizationCreated':
        return { status: 'active', ...event.data, createdAt: context.occurredAt };
      default:
        return event.type satisfies never;
    }
  },
};
