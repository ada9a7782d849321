import type { Pool, QueryResult, QueryResultRow } from 'pg';
import type { CustomerEvent } from '../../domain/customer-events/customer-events.ts';
import {
  type ClaimedDelivery,
  type CountedReplay,
  type OwedDelivery,
  type RecordingCheckpoint,
  type ReplayCounts,
  type ReplayPage,
  SCANNED_MAX,
  type WebhookDeliveries,
  type WebhookDelivery,
  type WebhookDeliveryState,
  type WebhookReplay,
} from '../../domain/ports/webhooks.ts';
import { orUnavailable } from '../../lib/postgres/postgres.ts';
import {
  ADVANCE_REPLAY,
  CANCEL_REPLAY,
  CHECKPOINT,
  CLAIM,
  DISTRIBUTE,
  DROP_UNTRIED,
  FAILING_SINCE,
  FIND,
  FIND_REPLAY,
  FINISH,
  LIST,
  LIST_REPLAYS,
  OWED_EVENTS,
  PENDING_OF,
  RECORD,
  RELEASE,
  RESEND,
  RUNNING_REPLAYS,
  SCAN_END,
  START_REPLAY,
  type Statement,
  WAITING_SINCE,
} from './statements.ts';

interface ClaimedRow {
  readonly id: string;
  readonly webhook_id: string;
  readonly event: CustomerEvent;
  readonly attempts: number;
  readonly replay_id: string | null;
}

interface OwedEventsRow {
  readonly number: string;
  readonly organization_id: string;
  readonly events: readonly CustomerEvent[];
  readonly webhook_ids: readonly string[];
  readonly made: number;
}

interface ReplayRow {
  readonly id: string;
  readonly number: string;
  readonly webhook_id: string;
  readonly state: WebhookReplay['state'];
  readonly since: Date | null;
  readonly until: Date;
  readonly place_position: string;
  readonly place_index: number;
  readonly up_to: string;
  readonly created_at: Date;
  readonly ended_at: Date | null;
}

interface ListedTry {
  readonly at: string;
  readonly status: number | null;
  readonly duration_ms: number;
  readonly answer: string;
  readonly url: string;
  readonly header_names: string;
  readonly body_bytes: number;
  readonly body_sha256: string;
}

interface ListedRow extends ClaimedRow {
  readonly number: string;
  readonly state: WebhookDeliveryState;
  readonly due_at: Date;
  readonly created_at: Date;
  readonly tries: readonly ListedTry[];
}

/** Row numbers have 64 bits. Anything else was never a cursor. */
const CURSOR = /^\d{1,18}$/;

/** No header name and no id contains a comma. */
const SEPARATOR = ',';
const namesIn = (text: string): readonly string[] => (text === '' ? [] : text.split(SEPARATOR));

const owedOf = ({ id, webhook_id, event, replay_id }: ClaimedRow): OwedDelivery => ({
  id,
  webhookId: webhook_id,
  event,
  ...(replay_id === null ? {} : { replayId: replay_id }),
});

const replayOf = (row: ReplayRow): WebhookReplay => ({
  id: row.id,
  webhookId: row.webhook_id,
  state: row.state,
  since: row.since,
  until: row.until,
  place: { position: row.place_position, index: row.place_index },
  upTo: row.up_to,
  createdAt: row.created_at,
  endedAt: row.ended_at,
});

const countedReplayOf = (row: ReplayRow & ReplayCounts): CountedReplay => {
  const { pending, delivered, failed } = row;
  return { ...replayOf(row), counts: { pending, delivered, failed } };
};

const pageOf = <Row extends ReplayRow, Replay>(
  rows: readonly Row[],
  limit: number,
  replayFrom: (row: Row) => Replay,
): ReplayPage<Replay> => ({
  replays: rows.slice(0, limit).map(replayFrom),
  next: rows.length > limit ? (rows[limit - 1]?.number ?? null) : null,
});

const deliveryOf = (row: ListedRow): WebhookDelivery => ({
  ...owedOf(row),
  state: row.state,
  dueAt: row.state === 'pending' ? row.due_at : null,
  createdAt: row.created_at,
  tries: row.tries.map(({ at, status, duration_ms, answer, url, header_names, body_bytes, body_sha256 }) => ({
    at: new Date(at),
    request: { url, headerNames: namesIn(header_names), bodyBytes: body_bytes, bodySha256: body_sha256 },
    status,
    durationMs: duration_ms,
    text: answer,
  })),
});

/** Webhook deliveries in the vault's database. The pool still belongs to the caller. */
export const createPostgresWebhookDeliveries = ({ pool }: { readonly pool: Pool }): WebhookDeliveries => {
  const query = <Row extends QueryResultRow>(
    statement: Statement,
    values: readonly unknown[],
  ): Promise<QueryResult<Row>> => orUnavailable(pool.query<Row>({ ...statement, values: [...values] }));

  const timesOf = async (statement: Statement, webhookIds: readonly string[]): Promise<ReadonlyMap<string, Date>> => {
    const { rows } = await query<{ webhook_id: string; since: Date }>(statement, [webhookIds]);
    return new Map(rows.map(({ webhook_id, since }) => [webhook_id, since]));
  };

  /** null: all rows were scanned. */
  const scanEnd = async (webhookId: string, after: string | null): Promise<string | null> => {
    const { rows } = await query<{ number: string }>(SCAN_END, [webhookId, after, SCANNED_MAX - 1]);
    return rows[0]?.number ?? null;
  };

  return {
    checkpoint: async () => (await query<RecordingCheckpoint>(CHECKPOINT, [])).rows[0] ?? null,

    record: async ({ logId, from, to, owed, owedLater = [], now }) => {
      const { rows } = await query<{ moved: boolean }>(RECORD, [
        logId,
        from,
        to,
        owed.map(({ id }) => id),
        owed.map(({ webhookId }) => webhookId),
        owed.map(({ event }) => JSON.stringify(event)),
        now,
        owedLater.map(({ organizationId }) => organizationId),
        owedLater.map(({ events }) => JSON.stringify(events)),
        owedLater.map(({ webhookIds }) => webhookIds.join(SEPARATOR)),
      ]);
      return rows[0]?.moved === true;
    },

    owedEvents: async (after) => {
      const [row] = (await query<OwedEventsRow>(OWED_EVENTS, [after])).rows;
      if (row === undefined) return null;
      const { organization_id: organizationId, webhook_ids: webhookIds, number, events, made } = row;
      return { number, organizationId, events, webhookIds, made };
    },

    distribute: async ({ of: { number, made }, owed, isLast, now }) => {
      await query(DISTRIBUTE, [
        ...[number, made, isLast],
        owed.map(({ id }) => id),
        owed.map(({ webhookId }) => webhookId),
        owed.map(({ event }) => JSON.stringify(event)),
        now,
      ]);
    },

    claim: async (wanted, { now, leaseUntil }) => {
      const values = [wanted.map(({ webhookId }) => webhookId), wanted.map(({ limit }) => limit), now, leaseUntil];
      const { rows } = await query<ClaimedRow>(CLAIM, values);
      return rows.map((row): ClaimedDelivery => ({ ...owedOf(row), attempts: row.attempts }));
    },

    release: async (ids, now) => {
      await query(RELEASE, [ids, now]);
    },

    finish: async (tries) => {
      await query(FINISH, [
        tries.map(({ deliveryId }) => deliveryId),
        tries.map(({ attempt }) => attempt),
        tries.map(({ at }) => at),
        tries.map(({ status }) => status),
        tries.map(({ durationMs }) => Math.round(durationMs)),
        tries.map(({ text }) => text),
        tries.map(({ state }) => state),
        tries.map(({ dueAt }) => dueAt),
        tries.map(({ request }) => request.url),
        tries.map(({ request }) => request.headerNames.join(SEPARATOR)),
        tries.map(({ request }) => request.bodyBytes),
        tries.map(({ request }) => Buffer.from(request.bodySha256, 'hex')),
      ]);
    },

    failingSince: (webhookIds) => timesOf(FAILING_SINCE, webhookIds),
    waitingSince: (webhookIds) => timesOf(WAITING_SINCE, webhookIds),

    find: async ({ ids, limit }) => {
      const { rows } = await query<ListedRow>(FIND, [ids, limit]);
      return rows.map(deliveryOf);
    },

    list: async ({ webhookId, limit, after = null, state = null, type = null }) => {
      if (after !== null && !CURSOR.test(after)) return { deliveries: [], next: null };
      const { rows } = await query<ListedRow>(LIST, [webhookId, after, limit + 1, SCANNED_MAX, state, type]);
      const deliveries = rows.slice(0, limit).map(deliveryOf);
      if (rows.length > limit) return { deliveries, next: rows[limit - 1]?.number ?? null };
      return { deliveries, next: await scanEnd(webhookId, after) };
    },

    startReplay: async ({ id, webhookId, since, until, place, upTo, createdAt }) => {
      const values = [id, webhookId, since, until, place.position, place.index, upTo, createdAt];
      return (await query(START_REPLAY, values)).rows.length > 0;
    },

    findReplay: async (id) => {
      const { rows } = await query<ReplayRow & ReplayCounts>(FIND_REPLAY, [id]);
      return rows[0] === undefined ? null : countedReplayOf(rows[0]);
    },

    listReplays: async ({ webhookId, limit, after = null }) => {
      const { rows } = await query<ReplayRow & ReplayCounts>(LIST_REPLAYS, [webhookId, after, limit + 1]);
      return pageOf(rows, limit, countedReplayOf);
    },

    runningReplays: async ({ limit, after }) =>
      pageOf((await query<ReplayRow>(RUNNING_REPLAYS, [limit + 1, after ?? 0])).rows, limit, replayOf),

    advanceReplay: async ({ replay: { id, place }, to, owed, isLast, now }) => {
      const { rows } = await query<{ moved: boolean }>(ADVANCE_REPLAY, [
        ...[id, place.position, place.index, to.position, to.index, isLast, now],
        owed.map((one) => one.id),
        owed.map(({ webhookId }) => webhookId),
        owed.map(({ event }) => JSON.stringify(event)),
      ]);
      return rows[0]?.moved === true;
    },

    cancelReplay: async (id, now) => {
      await query(CANCEL_REPLAY, [id, now]);
      await query(DROP_UNTRIED, [id]);
    },

    pendingOf: async (webhookId, limit) =>
      (await query<{ count: number }>(PENDING_OF, [webhookId, limit])).rows[0]?.count ?? 0,

    resend: async (id, now) => {
      await query(RESEND, [id, now]);
    },
  };
};
