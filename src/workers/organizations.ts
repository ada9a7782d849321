import { idOf, type RecordedEvent } from '../domain/kernel/event-store.ts';
import type { OrganizationEvent } from '../domain/kernel/events.ts';
import { type Organization, organization } from '../domain/organization/organization.ts';
import type { InMemoryProjection } from './in-memory-projections.ts';

/** By id. It may be behind the log: read there what cannot be undone. */
export type Organizations = ReadonlyMap<string, Organization>;

/** In-memory projection of all organizations. */
export const createOrganizations = (): InMemoryProjection & { readonly organizations: Organizations } => {
  const organizations = new Map<string, Organization>();
  return {
    category: organization.category,
    organizations,
    apply: (event) => {
      const id = idOf(event.stream);
      const of = event as RecordedEvent<OrganizationEvent>; // of its category
      organizations.set(id, organization.evolve(organizations.get(id) ?? organization.initial, of, of.metadata));
    },
  };
};
