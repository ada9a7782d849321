import type { Pool } from 'pg';
import type { ExpiredContent, OldContent, OldRows, Retention } from '../../domain/ports/contents.ts';

/** The condition of the index `contents_by_age`, word by word. */
const KINDS = `kind in ('message', 'reply', 'link', 'contact')`;

const CONTENTS = {
  name: 'retention-contents',
  text: `
    select id, kind, message_id as "messageId", created_at::text as "storedAt"
    from vault.contents
    where organization_id = $1 and ${KINDS} and created_at < $2
      and (created_at, id) > (coalesce($3::timestamptz, '-infinity'), coalesce($4::uuid, '00000000-0000-0000-0000-000000000000'))
    order by created_at, id
    limit $5`,
};

/** Another process may expire the same: what it has locked is left to it. */
const EXPIRE = {
  name: 'retention-expire',
  text: `
    with expiring as (
      select id from vault.contents where id = any ($1::uuid[]) and ${KINDS} order by id for update skip locked
    )
    update vault.contents c
    set kind = 'expired', head = null, body = $2::text::json, size_bytes = octet_length($2::text), message_id = null
    from expiring where c.id = expiring.id`,
};

const DELETE_DELIVERIES = {
  name: 'retention-webhook-deliveries',
  text: `
    delete from vault.webhook_deliveries where id in (
      select id from vault.webhook_deliveries where state <> 'pending' and created_at < $1
      order by created_at limit $2 for update skip locked)`,
};

const DELETE_TRIES = {
  name: 'retention-webhook-tries',
  text: `
    delete from vault.webhook_tries where (delivery_id, attempt) in (
      select delivery_id, attempt from vault.webhook_tries where at < $1 order by at limit $2 for update skip locked)`,
};

const DELETE_REPLAYS = {
  name: 'retention-webhook-replays',
  text: `
    delete from vault.webhook_replays where id in (
      select id from vault.webhook_replays where state <> 'running' and ended_at < $1
      order by ended_at limit $2 for update skip locked)`,
};

/** From endpoint to endpoint by one probe of the index each, however many deliveries they have. */
const WAITING_ENDPOINTS = {
  name: 'retention-waiting-endpoints',
  text: `
    with recursive endpoint as (
      select min(webhook_id) as id from vault.webhook_deliveries where state = 'pending' and webhook_id > $1
      union all
      select (select min(d.webhook_id) from vault.webhook_deliveries d where d.state = 'pending' and d.webhook_id > endpoint.id)
      from endpoint where endpoint.id is not null
    )
    select id from endpoint
    where exists (
      select from vault.webhook_deliveries d where d.webhook_id = endpoint.id and d.state = 'pending' and d.due_at < $2)
    limit $3`,
};

const DELETE_PENDING = {
  name: 'retention-pending-deliveries',
  text: `
    delete from vault.webhook_deliveries where id in (
      select id from vault.webhook_deliveries where webhook_id = $1 and state = 'pending'
      order by due_at limit $2 for update skip locked)`,
};

/** Ids are in the order of time, and the table is bounded. */
const DELETE_CAPTURED = {
  name: 'retention-captured-mail',
  text: `
    delete from inbox.captured_mail where received_at < $1 and id in (
      select id from inbox.captured_mail order by id limit $2 for update skip locked)`,
};

export const createPostgresRetention = ({ pool }: { readonly pool: Pool }): Retention => {
  const remove = async (statement: { readonly name: string; readonly text: string }, { before, limit }: OldRows) =>
    (await pool.query({ ...statement, values: [before, limit] })).rowCount ?? 0;

  return {
    contents: async ({ organizationId, before, after, limit }) => {
      const values = [organizationId, before, after?.storedAt ?? null, after?.id ?? null, limit];
      return (await pool.query<OldContent>({ ...CONTENTS, values })).rows;
    },
    expire: async (ids, at) => {
      const record: ExpiredContent = { kind: 'expired', at: at.toISOString() };
      return (await pool.query({ ...EXPIRE, values: [ids, JSON.stringify(record)] })).rowCount ?? 0;
    },
    deleteWebhookTries: async (rows) =>
      Math.max(
        await remove(DELETE_DELIVERIES, rows),
        await remove(DELETE_TRIES, rows),
        await remove(DELETE_REPLAYS, rows),
      ),
    waitingEndpoints: async ({ after, before, limit }) => {
      const { rows } = await pool.query<{ id: string }>({ ...WAITING_ENDPOINTS, values: [after, before, limit] });
      return rows.map(({ id }) => id);
    },
    deletePendingDeliveries: async (webhookId, limit) =>
      (await pool.query({ ...DELETE_PENDING, values: [webhookId, limit] })).rowCount ?? 0,
    deleteCapturedMail: (rows) => remove(DELETE_CAPTURED, rows),
  };
};
