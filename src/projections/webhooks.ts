import type { Environment } from '../domain/kernel/environment.ts';
import { type ExistingWebhook, webhook } from '../domain/webhook/webhook.ts';
import type { Database, ListPage } from '../lib/projections/projections.ts';
import { defineStates, type ListRequest, listStates } from './states.ts';

export const webhooksProjection = defineStates({
  name: 'webhooks',
  version: 2,
  aggregate: webhook,
  table: 'webhooks',
  columns: {
    webhook_id: 'text',
    organization_id: 'text',
    environment: 'text',
    status: 'text',
    created_at: 'timestamptz',
  },
});

export interface ListWebhooks extends ListRequest {
  readonly environment: Environment;
}

const list = listStates<ExistingWebhook>({
  table: 'webhooks',
  id: 'webhook_id',
  where: `environment = $5 and (status <> 'deleted' or $6)`,
});

/** Endpoints of an organization that are not deleted, newest first. */
export const listWebhooks = (
  db: Database,
  { environment, withDeleted = false, ...page }: ListWebhooks,
): Promise<ListPage<ExistingWebhook>> => list(db, page, [environment, withDeleted]);

const COUNT = `
  select count(*)::int as count from read_models.webhooks where organization_id = $1 and status <> 'deleted'`;

/** Endpoints of an organization that are not deleted, of both environments. */
export const countWebhooks = async (db: Database, organizationId: string): Promise<number> =>
  (await db.query<{ count: number }>({ name: 'count-webhooks', text: COUNT, values: [organizationId] })).rows[0]
    ?.count ?? 0;

/** A webhook, and the replays to it of which something may be stored. */
export interface EndpointWithReplays {
  readonly webhookId: string;
  readonly replayIds: readonly string[];
}

const ENDPOINTS = `
  select webhook_id as "webhookId",
    array(select r.id from vault.webhook_replays r where r.webhook_id = w.webhook_id) as "replayIds"
  from read_models.webhooks w where organization_id = $1`;

/** All webhooks that an organization has ever had. */
export const endpointsOf = async (db: Database, organizationId: string): Promise<readonly EndpointWithReplays[]> =>
  (await db.query<EndpointWithReplays>({ name: 'endpoints-of', text: ENDPOINTS, values: [organizationId] })).rows;
