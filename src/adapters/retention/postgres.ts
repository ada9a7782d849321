import type { Pool } from 'pg';
import { ERASURE_COUNTS_NONE, type ErasureCounts } from '../../domain/erasure/erasure.ts';
import type { ErasureProgress, Going, OldContent, OldRows, Retention } from '../../domain/ports/contents.ts';
import { orUnavailable } from '../../lib/postgres/postgres.ts';
import { type ContentsCodec, PLAIN_CONTENTS } from '../contents/contents-codec.ts';
import { createPostgresContents } from '../contents/postgres.ts';
import { columnsOf, createRemovedContents, type Reason, type Removable, removal } from './removed-contents.ts';

/** Removes rows of the vault and the inbox: by age, or because a person is erased. */

/** The condition of the index `contents_by_age`, word for word. */
const KINDS = `kind in ('message', 'inbound', 'inbound_raw', 'reply', 'link', 'contact', 'partly_erased')`;
const KINDS_OF_PEOPLE = `kind in ('message', 'inbound', 'inbound_raw', 'reply', 'link', 'suppression', 'contact', 'partly_erased')`;

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

/** `xmin` changes with the row, so a row is removed only if it has not changed since it was found. */
const REMOVABLE_COLUMNS = 'id, kind, organization_id as "organizationId", xmin::text as version';

const EXPIRABLE = {
  name: 'retention-expirable',
  text: `select ${REMOVABLE_COLUMNS} from vault.contents where id = any ($1::uuid[]) and ${KINDS}`,
};

const ERASABLE = {
  name: 'retention-erasable',
  text: `
    select ${REMOVABLE_COLUMNS} from vault.contents
    where id = any ($1::uuid[]) and ${KINDS_OF_PEOPLE} and organization_id = $2`,
};

/** Another process may expire the same rows. Rows that it has locked are left to it. */
const EXPIRE = {
  name: 'retention-expire-with-words',
  text: `with ${removal('skip locked')} select count(*)::int as removed from removed`,
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

const DELETE_REFUSED = {
  name: 'retention-refused-requests',
  text: `
    delete from vault.refused_requests where id in (
      select id from vault.refused_requests where at < $1 order by at limit $2 for update skip locked)`,
};

/** The condition of the index `refused_requests_of_address`, word for word. */
const ERASE_REFUSED = {
  name: 'erase-refused-requests',
  text: `
    delete from vault.refused_requests
    where address_digests @> array[$2::text] and address_digests <> '{}' and organization_id = $1`,
};

/** The condition of the index `member_views_of_address`, word for word. */
const ERASE_VIEWS = {
  name: 'erase-member-views',
  text: `
    update vault.member_views set
      views = (
        select coalesce(jsonb_agg(v.view order by v.place), '[]')
        from jsonb_array_elements(views) with ordinality as v (view, place) where not v.view->'digests' ? $2),
      address_digests = array_remove(address_digests, $2)
    where address_digests @> array[$2::text] and address_digests <> '{}' and organization_id = $1`,
};

/** Goes from endpoint to endpoint with one probe of the index each, however many deliveries they have. */
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

/** Ids are in chronological order, and the table is bounded. */
const DELETE_CAPTURED = {
  name: 'retention-captured-mail',
  text: `
    delete from inbox.captured_mail where received_at < $1 and id in (
      select id from inbox.captured_mail order by id limit $2 for update skip locked)`,
};

/** Captured mail by its Message-ID, which is in the head. The table is bounded, and empty unless mail is captured. */
const captured = (ids: string, domains: string): string => `
  cardinality(${ids}::text[]) > 0 and lower(split_part(envelope_from, '@', -1)) = any (${domains}::text[])
  and substring(encode(substring(raw from 1 for 65536), 'escape') from '(?in)^message-id:\\s*(<[^>]*>)') = any (${ids})`;

const counted = (contents: string): string => `
  (select count(*) from ${contents} where kind in ('message', 'inbound', 'partly_erased'))::int as messages,
  (select count(*) from ${contents} where kind = 'reply')::int as replies,
  (select count(*) from ${contents} where kind = 'link')::int as links,
  (select count(*) from ${contents} where kind = 'suppression')::int as suppression_evidence,
  (select count(*) from tries)::int as webhook_tries,
  (select count(*) from mail)::int as captured_mail,
  (select count(*) from ${contents} where kind = 'contact')::int as contacts`;

const COLUMNS = [
  'messages',
  'replies',
  'links',
  'suppression_evidence',
  'webhook_tries',
  'captured_mail',
  'contacts',
] as const;
type CountRow = Readonly<Record<(typeof COLUMNS)[number], number>>;

/** One statement, so that removed rows are counted even if the process dies. */
const ERASE = {
  name: 'erase-with-words',
  text: `
    with ${removal()},
    tries as (delete from vault.webhook_tries where delivery_id = any ($5::text[]) returning 1),
    mail as (delete from inbox.captured_mail where ${captured('$6', '$7')} returning 1),
    counted as (select ${counted('removed')}),
    noted as (
      insert into vault.erasures as e (erasure_id, organization_id, updated_at, ${COLUMNS.join()})
      select $8, $9, $10::timestamptz, ${COLUMNS.join()} from counted
      on conflict (erasure_id) do update
      set updated_at = excluded.updated_at, ${COLUMNS.map((name) => `${name} = e.${name} + excluded.${name}`).join()}
    )
    select ${COLUMNS.join(' + ')} as removed, (select count(*)::int from removed) as contents from counted`,
};

const COUNT = {
  name: 'count-erasable-found',
  text: `
    with erasable as (select kind from vault.contents where id = any ($1::uuid[])),
    tries as (select from vault.webhook_tries where delivery_id = any ($2::text[])),
    mail as (select from inbox.captured_mail where ${captured('$3', '$4')})
    select ${counted('erasable')}`,
};

const NOTE = {
  name: 'note-erasure',
  text: `
    insert into vault.erasures as e (erasure_id, organization_id, waiting_messages, updated_at, done_at)
    values ($1, $2, $3, $4::timestamptz, case when $5 then $4::timestamptz end)
    on conflict (erasure_id) do update
    set waiting_messages = excluded.waiting_messages, updated_at = excluded.updated_at,
      done_at = coalesce(e.done_at, excluded.done_at)`,
};

const PROGRESS = {
  name: 'erasure-progress',
  text: `
    select erasure_id, waiting_messages, updated_at, ${COLUMNS.join()} from vault.erasures
    where erasure_id = any ($1::text[])`,
};

const countsOf = (row: CountRow | undefined): ErasureCounts =>
  row === undefined
    ? ERASURE_COUNTS_NONE
    : {
        messages: row.messages,
        replies: row.replies,
        links: row.links,
        suppressionEvidence: row.suppression_evidence,
        webhookTries: row.webhook_tries,
        capturedMail: row.captured_mail,
        contacts: row.contacts,
      };

const mailValues = ({ mail }: Pick<Going, 'mail'>): readonly [string[], string[]] => [
  mail.map(({ internetMessageId }) => internetMessageId),
  [...new Set(mail.map(({ fromDomain }) => fromDomain))],
];

interface ProgressRow extends CountRow {
  readonly erasure_id: string;
  readonly waiting_messages: number;
  readonly updated_at: Date;
}

interface RemovalCount {
  readonly removed: number;
}

/** A preview does not report the time. */
const PREVIEW: Reason = { kind: 'expired', at: '' };

/** An erasure starts over if another one, or a change of `SECRET_KEY`, happened in between. More would hide a loop. */
const ERASE_TRIES = 5;

export interface PostgresRetentionOptions {
  readonly pool: Pool;
  /** Absent: contents are not encrypted. */
  readonly codec?: ContentsCodec;
}

export const createPostgresRetention = ({ pool, codec = PLAIN_CONTENTS }: PostgresRetentionOptions): Retention => {
  const { removals } = createRemovedContents(createPostgresContents({ pool, codec }), codec);

  const erasable = async ({
    contentIds,
    organizationId,
  }: Pick<Going, 'contentIds' | 'organizationId'>): Promise<readonly Removable[]> =>
    (await orUnavailable(pool.query<Removable>({ ...ERASABLE, values: [contentIds, organizationId] }))).rows;

  const remove = async (statement: { readonly name: string; readonly text: string }, { before, limit }: OldRows) =>
    (await pool.query({ ...statement, values: [before, limit] })).rowCount ?? 0;

  return {
    contents: async ({ organizationId, before, after, limit }) => {
      const values = [organizationId, before, after?.storedAt ?? null, after?.id ?? null, limit];
      return (await pool.query<OldContent>({ ...CONTENTS, values })).rows;
    },
    expire: async (ids, at) => {
      const { rows: found } = await pool.query<Removable>({ ...EXPIRABLE, values: [ids] });
      const going = await removals(found, { kind: 'expired', at: at.toISOString() });
      const { rows } = await pool.query<RemovalCount>({ ...EXPIRE, values: [...columnsOf(going)] });
      return rows[0]?.removed ?? 0;
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
    deleteRefusedRequests: (rows) => remove(DELETE_REFUSED, rows),
    eraseRefusedRequests: async ({ organizationId, digest }) =>
      (await pool.query({ ...ERASE_REFUSED, values: [organizationId, digest] })).rowCount ?? 0,
    eraseMemberViews: async ({ organizationId, digest }) =>
      (await pool.query({ ...ERASE_VIEWS, values: [organizationId, digest] })).rowCount ?? 0,
    erase: async (going) => {
      const { erasureId, organizationId, deliveryIds, at } = going;
      const others = [deliveryIds, ...mailValues(going), erasureId, organizationId, at];
      let removed = 0;
      for (let tries = 1; tries <= ERASE_TRIES; tries += 1) {
        const reason = { kind: 'erased', at: at.toISOString(), erasureId } as const;
        const found = await removals(await erasable(going), reason, going.recipientIds);
        const values = [...columnsOf(found), ...others];
        const { rows } = await pool.query<RemovalCount & { readonly contents: number }>({ ...ERASE, values });
        removed += rows[0]?.removed ?? 0;
        if (rows[0]?.contents === found.length) return removed;
      }
      throw new Error('other erasures keep changing the same contents');
    },
    countErasable: async (going) => {
      const found = await erasable(going);
      const isPartly = ({ kind }: Removable): boolean => kind === 'partly_erased';
      const partly = await removals(found.filter(isPartly), PREVIEW, going.recipientIds);
      const counted = [...found.filter((each) => !isPartly(each)), ...partly];
      const values = [counted.map(({ id }) => id), going.deliveryIds, ...mailValues(going)];
      return countsOf((await orUnavailable(pool.query<CountRow>({ ...COUNT, values }))).rows[0]);
    },
    noteErasure: async ({ erasureId, organizationId, waitingMessages, isDone, at }) => {
      await pool.query({ ...NOTE, values: [erasureId, organizationId, waitingMessages, at, isDone] });
    },
    erasureProgress: async (ids) => {
      const { rows } = await orUnavailable(pool.query<ProgressRow>({ ...PROGRESS, values: [ids] }));
      return new Map(
        rows.map((row): [string, ErasureProgress] => [
          row.erasure_id,
          {
            counts: countsOf(row),
            waitingMessages: row.waiting_messages,
            updatedAt: row.updated_at.toISOString(),
          },
        ]),
      );
    },
  };
};
