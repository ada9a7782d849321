import { type ExistingInboundRoute, inboundRoute } from '../domain/inbound/route.ts';
import type { Database, ListPage } from '../lib/projections/projections.ts';
import { defineStates, type ListRequest, listStates } from './states.ts';

export const inboundRoutesProjection = defineStates({
  name: 'inbound-routes',
  version: 1,
  aggregate: inboundRoute,
  table: 'inbound_routes',
  columns: { route_id: 'text', organization_id: 'text', status: 'text', created_at: 'timestamptz' },
});

export interface ListInboundRoutes extends ListRequest {
  /** Domain whose mail they route; null: any. */
  readonly domainId: string | null;
}

const list = listStates<ExistingInboundRoute>({
  table: 'inbound_routes',
  id: 'route_id',
  where: `($5::text is null or state->>'domainId' = $5) and (status <> 'deleted' or $6)`,
});

/** Inbound routes of an organization that are not deleted, newest first. */
export const listInboundRoutes = (
  db: Database,
  { domainId, withDeleted = false, ...page }: ListInboundRoutes,
): Promise<ListPage<ExistingInboundRoute>> => list(db, page, [domainId, withDeleted]);
