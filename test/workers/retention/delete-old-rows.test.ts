import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPostgresRetention } from '../../../src/adapters/retention/postgres.ts';
import type { Retention } from '../../../src/domain/ports/contents.ts';
import { deleteOldRows } from '../../../src/workers/retention/expire-contents.ts';
import { type DatabaseService, startDatabaseService } from '../../http/support/database-service.ts';

const DAY_MS = 86_400_000;

describe('retention', () => {
  let service: DatabaseService;
  let pool: Pool;
  let key: string;

  beforeAll(async () => {
    service = await startDatabaseService();
    pool = new Pool({ connectionString: service.url, max: 2 });
    const organizationId = await service.makeOrganization();
    key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
  });
  afterAll(async () => {
    await pool.end();
    await service.close();
  });

  const ask = (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) =>
    service.request({ method, url, key, ...(payload && { payload }) });

  const round = (retention: Retention = createPostgresRetention({ pool })): Promise<void> =>
    deleteOldRows({ ...service.deps.context, retention }, new AbortController().signal);

  test('deletes deliveries owed to deleted webhooks, in batches, and keeps those of other webhooks', async () => {
    const ids: Record<string, string> = {};
    for (const name of ['deleted', 'deleted too', 'disabled', 'enabled']) {
      const hook = { url: 'http://127.0.0.1:9/', events: ['message.*'] };
      ids[name] = (await ask('POST', '/v1/webhooks', hook)).json().id;
      await pool.query(
        `insert into vault.webhook_deliveries (id, webhook_id, event, due_at, created_at)
         select $1 || n, $1, '{}', now() - interval '2 hours', now() from generate_series(1, 1100) n`,
        [ids[name]],
      );
    }
    for (const name of ['deleted', 'deleted too']) {
      expect((await ask('DELETE', `/v1/webhooks/${ids[name]}`)).statusCode).toBe(204);
    }
    await ask('PATCH', `/v1/webhooks/${ids.disabled}`, { enabled: false });
    const batches: number[] = [];
    const postgres = createPostgresRetention({ pool });
    await round({
      ...postgres,
      deletePendingDeliveries: async (webhookId, limit) => {
        const deleted = await postgres.deletePendingDeliveries(webhookId, limit);
        batches.push(deleted);
        return deleted;
      },
    });
    expect(batches).toEqual([500, 500, 100, 500, 500, 100]);
    const { rows } = await pool.query('select distinct webhook_id as id from vault.webhook_deliveries');
    expect(rows.map(({ id }) => id).toSorted()).toEqual([ids.disabled, ids.enabled].toSorted());
    await pool.query('delete from vault.webhook_deliveries');
  });

  test('processes endpoints page by page', async () => {
    await pool.query(
      `insert into vault.webhook_deliveries (id, webhook_id, event, due_at, created_at)
       select n || '-' || m, 'whk_' || n, '{}', now() - case when n = 3 then interval '0' else interval '1 hour' end, now()
       from generate_series(1, 5) n, generate_series(1, 3) m`,
    );
    const { waitingEndpoints } = createPostgresRetention({ pool });
    const before = new Date(Date.now() - 60_000);
    expect(await waitingEndpoints({ before, after: '', limit: 2 })).toEqual(['whk_1', 'whk_2']);
    expect(await waitingEndpoints({ before, after: 'whk_2', limit: 2 })).toEqual(['whk_4', 'whk_5']);
    expect(await waitingEndpoints({ before, after: 'whk_5', limit: 2 })).toEqual([]);
    await pool.query('delete from vault.webhook_deliveries');
  });

  test('deletes webhook attempts, ended deliveries and replays, and captured mail after 30 days', async () => {
    const at = (days: number) => new Date(Date.now() - days * DAY_MS);
    for (const days of [29, 31, 40]) {
      for (const state of ['pending', 'delivered']) {
        await pool.query(
          `insert into vault.webhook_deliveries (id, webhook_id, event, state, due_at, created_at)
           values ($1, 'whk', '{}', $2, $3, $3)`,
          [`${state}-${days}`, state, at(days)],
        );
      }
      await pool.query(
        `insert into vault.webhook_tries (delivery_id, attempt, at, duration_ms, answer, url, header_names, body_bytes, body_sha256)
         values ($1, 1, $2, 1, '', '', '', 0, '')`,
        [`delivered-${days}`, at(days)],
      );
      for (const state of ['running', 'completed', 'cancelled']) {
        await pool.query(
          `insert into vault.webhook_replays
             (id, webhook_id, state, until, place_position, place_index, up_to, created_at, ended_at)
           values ($1, $1, $2, $3, '', 0, '', $3, case when $2 <> 'running' then $3::timestamptz end)`,
          [`${state}-${days}`, state, at(days)],
        );
      }
      await pool.query(
        `insert into inbox.captured_mail (received_at, envelope_from, envelope_to, size_bytes, environment, raw)
         values ($1, 'a@example.test', '[]', 0, 'live', '')`,
        [at(days)],
      );
    }
    await round();
    const column = async (text: string) => (await pool.query({ text, rowMode: 'array' })).rows.flat();
    expect(await column('select id from vault.webhook_deliveries order by id')).toEqual([
      'delivered-29',
      'pending-29',
      'pending-31',
      'pending-40',
    ]);
    expect(await column('select delivery_id from vault.webhook_tries')).toEqual(['delivered-29']);
    expect(await column('select id from vault.webhook_replays order by id')).toEqual([
      'cancelled-29',
      'completed-29',
      'running-29',
      'running-31',
      'running-40',
    ]);
    expect(await column('select count(*)::int from inbox.captured_mail')).toEqual([1]);
  });
});
