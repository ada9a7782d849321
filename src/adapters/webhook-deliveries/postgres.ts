import type { Pool, QueryResult, QueryResultRow } from 'pg';
import type { CustomerEvent } from '../../domain/customer-events.ts';
import type {
  ClaimedDelivery,
  RecordingCheckpoint,
  WebhookDeliveries,
  WebhookDelivery,
  WebhookDeliveryState,
} from '../../domain/ports/webhook-deliveries.ts';
import { orUnavailable } from '../postgres/pool.ts';
import { CHECKPOINT, CLAIM, FAILING_SINCE, FIND, FINISH, LIST, RECORD, RELEASE, type Statement } from './statements.ts';

interface ClaimedRow {
  readonly id: string;
  readonly webhook_id: string;
  readonly event: CustomerEvent;
  readonly attempts: number;
}

interface ListedTry {
  readonly at: string;
  readonly status: number | null;
  readonly duration_ms: number;
  readonly answer: string;
}

interface ListedRow extends ClaimedRow {
  readonly number: string;
  readonly state: WebhookDeliveryState;
  readonly due_at: Date;
  readonly created_at: Date;
  readonly tries: readonly ListedTry[];
}

/** Numbers of rows are 64 bits; anything else was never given as a cursor. */
const CURSOR = /^\d{1,18}$/;

const deliveryOf = (row: ListedRow): WebhookDelivery => ({
  id: row.id,
  webhookId: row.webhook_id,
  event: row.event,
  state: row.state,
  dueAt: row.state === 'pending' ? row.due_at : null,
  createdAt: row.created_at,
  tries: row.tries.map(({ at, status, duration_ms, answer }) => ({
    at: new Date(at),
    status,
    durationMs: duration_ms,
    text: answer,
  })),
});

/** Webhook deliveries in the vault's database. The pool stays its owner's. */
export const createPostgresWebhookDeliveries = ({ pool }: { readonly pool: Pool }): WebhookDeliveries => {
  const query = <Row extends QueryResultRow>(
    statement: Statement,
    values: readonly unknown[],
  ): Promise<QueryResult<Row>> => orUnavailable(pool.query<Row>({ ...statement, values: [...values] }));

  return {
    checkpoint: async () => {
      const { rows } = await query<{ log_id: string; position: string }>(CHECKPOINT, []);
      const [row] = rows;
      const found: RecordingCheckpoint | null =
        row === undefined ? null : { logId: row.log_id, position: row.position };
      return found;
    },

    record: async ({ logId, from, to, owed, now }) => {
      const { rows } = await query<{ moved: boolean }>(RECORD, [
        logId,
        from,
        to,
        owed.map(({ id }) => id),
        owed.map(({ webhookId }) => webhookId),
        owed.map(({ event }) => JSON.stringify(event)),
        now,
      ]);
      return rows[0]?.moved === true;
    },

    claim: async (wanted, { now, leaseUntil }) => {
      const values = [wanted.map(({ webhookId }) => webhookId), wanted.map(({ limit }) => limit), now, leaseUntil];
      const { rows } = await query<ClaimedRow>(CLAIM, values);
      return rows.map(
        ({ id, webhook_id, event, attempts }): ClaimedDelivery => ({ id, webhookId: webhook_id, event, attempts }),
      );
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
      ]);
    },

    failingSince: async (webhookId) => {
      const { rows } = await query<{ since: Date }>(FAILING_SINCE, [webhookId]);
      return rows[0]?.since ?? null;
    },

    find: async ({ ids, limit }) => {
      const { rows } = await query<ListedRow>(FIND, [ids, limit]);
      return rows.map(deliveryOf);
    },

    list: async ({ webhookId, limit, after }) => {
      if (after !== undefined && !CURSOR.test(after)) return { deliveries: [], next: null };
      const { rows } = await query<ListedRow>(LIST, [webhookId, after ?? null, limit + 1]);
      const shown = rows.slice(0, limit);
      return {
        deliveries: shown.map(deliveryOf),
        next: rows.length > limit ? (shown.at(-1)?.number ?? null) : null,
      };
    },
  };
};
