import { type ExistingSendingDomain, sendingDomain } from '../domain/sending-domain/sending-domain.ts';
import type { Database, ListPage } from '../lib/projections/projections.ts';
import { defineStates, type ListRequest, listStates } from './states.ts';

export const domainsProjection = defineStates({
  name: 'domains',
  version: 4,
  aggregate: sendingDomain,
  table: 'domains',
  columns: { domain_id: 'text', organization_id: 'text', created_at: 'timestamptz' },
});

export interface ListDomains extends ListRequest {
  /** The only visible domain of the key; null: all. */
  readonly domainId: string | null;
}

const list = listStates<ExistingSendingDomain>({
  table: 'domains',
  id: 'domain_id',
  where: `($5::text is null or domain_id = $5) and (state->>'status' <> 'deleted' or $6)`,
});

/** Sending domains of an organization, newest first. */
export const listDomains = (
  db: Database,
  { domainId, withDeleted = false, ...page }: ListDomains,
): Promise<ListPage<ExistingSendingDomain>> => list(db, page, [domainId, withDeleted]);
