import type { WebhookEvent } from '../../domain/events.ts';
import { type Webhook, webhook } from '../../domain/webhook/webhook.ts';
import { asRecords } from '../database.ts';
import { existing, type Folded, foldInto, storedStates } from '../folded.ts';
import { defineProjection } from '../projection.ts';

const SELECT = 'select webhook_id as id, state from webhooks where webhook_id = any($1)';

const UPSERT = `
  insert into webhooks (webhook_id, organization_id, environment, status, created_at, state)
  select "webhookId", "organizationId", environment, status, "createdAt", state
  from json_to_recordset($1) as w("webhookId" text, "organizationId" text, environment text, status text,
    "createdAt" timestamptz, state json)
  on conflict (webhook_id) do update set status = excluded.status, state = excluded.state`;

const fold = foldInto(webhook);

export const webhooksProjection = defineProjection<WebhookEvent, Folded<Webhook>>({
  name: 'webhooks',
  version: 1,
  categories: [webhook.category],
  tables: ['webhooks'],
  handlers: { WebhookRegistered: fold, WebhookDisabled: fold, WebhookDeleted: fold },
  begin: (db, events) => storedStates(db, SELECT, events),
  write: async (db, webhooks) => {
    await db.query(UPSERT, asRecords(existing(webhooks).map((state) => ({ ...state, state }))));
  },
});
