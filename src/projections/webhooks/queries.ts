import type { Environment } from '../../domain/environment.ts';
import type { ExistingWebhook } from '../../domain/webhook/webhook.ts';
import type { Database } from '../database.ts';
import { type ListCursor, type ListPage, pageOf, rowsToAsk } from '../page-of.ts';

export interface ListWebhooks {
  readonly organizationId: string;
  readonly environment: Environment;
  readonly limit: number;
  readonly after: ListCursor | null;
}

const LIST = `
  select state from read_models.webhooks
  where organization_id = $1 and environment = $2 and status <> 'deleted'
    and ($3::timestamptz is null or (created_at, webhook_id) < ($3, $4::text))
  order by created_at desc, webhook_id desc
  limit $5`;

/** Endpoints of an organization that are not deleted, newest first. */
export const listWebhooks = async (
  db: Database,
  { organizationId, environment, limit, after }: ListWebhooks,
): Promise<ListPage<ExistingWebhook>> => {
  const values = [organizationId, environment, after?.createdAt ?? null, after?.id ?? null, rowsToAsk(limit)];
  const { rows } = await db.query<{ state: ExistingWebhook }>({ name: 'list-webhooks', text: LIST, values });
  return pageOf(
    rows.map(({ state }) => state),
    limit,
    ({ createdAt, webhookId }) => ({ createdAt, id: webhookId }),
  );
};
