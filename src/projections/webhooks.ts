import type { Environment } from '../domain/kernel/environment.ts';
import type { WebhookEvent } from '../domain/kernel/events.ts';
import { type ExistingWebhook, type Webhook, webhook } from '../domain/webhook/webhook.ts';
import { asRecords, type Database, type ListPage, type ListRequest, listStates } from './database.ts';
import { defineProjection, existing, foldInto, type StatesById, storedStates } from './projection.ts';

const SELECT = 'select webhook_id as id, state from webhooks where webhook_id = any($1)';

const UPSERT = `
  insert into webhooks (webhook_id, organization_id, environment, status, created_at, state)
  select "webhookId", "organizationId", environment, status, "createdAt", state
  from json_to_recordset($1) as w("webhookId" text, "organizationId" text, environment text, status text,
    "createdAt" timestamptz, state json)
  on conflict (webhook_id) do update set status = excluded.status, state = excluded.state`;

const fold = foldInto(webhook);

export const webhooksProjection = defineProjection<WebhookEvent, StatesById<Webhook>>({
  name: 'webhooks',
  version: 2,
  categories: [webhook.category],
  tables: ['webhooks'],
  handlers: {
    WebhookRegistered: fold,
    WebhookUpdated: fold,
    WebhookSecretRotated: fold,
    WebhookEnabled: fold,
    WebhookDisabled: fold,
    WebhookPaused: fold,
    WebhookAdopted: fold,
    WebhookPinged: 'ignored',
    WebhookDeliveryResent: 'ignored',
    WebhookDeleted: fold,
  },
  begin: (db, events) => storedStates(db, SELECT, events),
  write: async (db, webhooks) => {
    await db.query(UPSERT, asRecords(existing(webhooks).map((state) => ({ ...state, state }))));
  },
});

export interface ListWebhooks extends ListRequest {
  readonly environment: Environment;
}

const LIST = `
  select state from read_models.webhooks
  where organization_id = $1 and ($2::timestamptz is null or (created_at, webhook_id) < ($2, $3::text))
    and environment = $5 and (status <> 'deleted' or $6)
  order by created_at desc, webhook_id desc
  limit $4`;

/** Endpoints of an organization that are not deleted, newest first. */
export const listWebhooks = (
  db: Database,
  { environment, withDeleted = false, ...page }: ListWebhooks,
): Promise<ListPage<ExistingWebhook>> =>
  listStates(
    db,
    { name: 'list-webhooks', text: LIST, values: [environment, withDeleted] },
    page,
    ({ webhookId }) => webhookId,
  );

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
