import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPostgresContents } from '../../../src/adapters/contents/postgres.ts';
import { createPostgresRetention } from '../../../src/adapters/retention/postgres.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { removeAuditor } from '../../../src/commands/auditor.ts';
import type { Origin } from '../../../src/commands/execute.ts';
import { loadInbound } from '../../../src/commands/inbound/receive-mail.ts';
import { removeMember } from '../../../src/commands/member.ts';
import { cancelMessage } from '../../../src/commands/message/attempt.ts';
import { loadOrganization } from '../../../src/commands/organization.ts';
import type { OldContent, Retention } from '../../../src/domain/ports/contents.ts';
import type { System } from '../../../src/lib/async/async.ts';
import { PROJECTIONS } from '../../../src/projections/all.ts';
import { RUNNER_CONNECTIONS, rebuild } from '../../../src/projections/runner.ts';
import { expireContents } from '../../../src/workers/retention/expire-contents.ts';
import { type DatabaseService, startDatabaseService } from '../../http/support/database-service.ts';
import { operator } from '../../http/support/service.ts';
import { allRows } from '../../projections/support/read-model-rows.ts';
import { silentLogger } from '../../support/logger.ts';
import { receiveOne } from '../inbound/receive-one.ts';

const DAY_MS = 86_400_000;

describe('retention', () => {
  let service: DatabaseService;
  let pool: Pool;
  let organizationId: string;
  let key: string;
  const shiftMs = 0;
  const real = createSystem();
  const system: System = { ...real, now: () => new Date(real.now().getTime() + shiftMs) };

  beforeAll(async () => {
    service = await startDatabaseService({ system });
    pool = new Pool({ connectionString: service.url, max: RUNNER_CONNECTIONS });
    organizationId = await service.makeOrganization();
    key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
  });
  afterAll(async () => {
    await pool.end();
    await service.close();
  });

  const origin = (): Origin => ({ ...operator(organizationId), environment: 'live' });

  const ask = async (method: 'GET' | 'POST' | 'PATCH' | 'PUT', url: string, payload?: object, headers: object = {}) => {
    const body = payload === undefined ? {} : { payload };
    const answer = await service.request({ method, url, key, ...body, headers: { ...headers } });
    return { status: answer.statusCode, body: answer.json(), headers: answer.headers };
  };

  const send = async (more: object = {}, headers: object = {}) => {
    const message = { from: 'a@example.test', to: 'ann@example.net', subject: 'Hello', text: 'Hello', ...more };
    const answer = await ask('POST', '/v1/messages/send', message, headers);
    expect(answer.status).toBe(202);
    return answer;
  };
  const cancel = (messageId: string) => cancelMessage(service.deps.context, origin(), { messageId });

  /** Backdates all stored contents of a message. */
  const age = (messageId: string, days: number) =>
    pool.query(`update vault.contents set created_at = now() - $2 * interval '1 day' where message_id = $1`, [
      messageId,
      days,
    ]);

  const keptDays = (content_retention_days: number) => ask('PATCH', '/v1/organization', { content_retention_days });

  /** Runs one round of a worker. @returns the number of contents that it expired. */
  const round = async (retention: Retention = createPostgresRetention({ pool })): Promise<number> => {
    await ask('GET', '/v1/messages'); // the read model is up to date
    const ended = new AbortController();
    let expired = 0;
    await expireContents({
      retention,
      system,
      messageStatuses: service.deps.readModels.messages.statuses,
      organizations: new Map([[organizationId, null]]),
      caughtUp: Promise.resolve(),
      store: service.deps.context.store,
      contents: service.deps.context.contents,
      leadership: { isLeader: () => true },
      onExpired: (count) => {
        expired += count;
      },
    })(ended.signal, () => ended.abort());
    return expired;
  };

  test('removes inbound mail that is old enough, its original too', async () => {
    const mail = { organizationId, from: 'ann@example.net', to: 'support@example.test' };
    const inboundId = await receiveOne(service.deps.context, mail);
    const inbound = await loadInbound(service.deps.context, organizationId, inboundId);
    const ids = [inbound.contentId, inbound.rawId];
    expect(await round()).toBe(0);
    await pool.query(`update vault.contents set created_at = now() - interval '31 days' where id = any ($1)`, [ids]);
    expect(await round()).toBe(2);
    const { rows } = await pool.query('select kind, subject_words from vault.contents where id = any ($1)', [ids]);
    expect(rows).toEqual([1, 2].map(() => ({ kind: 'expired', subject_words: null })));
  });

  test('removes contents that are old enough, records it, and removes them once', async () => {
    const { id } = (await send({ subject: 'Hello, goodbye', tags: [{ name: 'kind', value: 'x' }] })).body;
    await cancel(id);
    expect((await ask('GET', `/v1/messages/${id}`)).body.content).toBe('stored');
    expect((await ask('GET', '/v1/messages?subject=goodbye')).body.data).toMatchObject([{ id }]);
    expect(await round()).toBe(0);
    await age(id, 31);
    expect(await Promise.all([round(), round()]).then(([one, two]) => one + two)).toBe(1);
    expect((await ask('GET', '/v1/messages?subject=goodbye')).body.data).toEqual([]);
    expect((await ask('GET', `/v1/messages/${id}`)).body).toMatchObject({
      content: 'expired',
      subject: null,
      from: null,
      tags: [],
      recipients: [{ address: null, status: 'cancelled' }],
    });
    const listed = (await ask('GET', '/v1/messages')).body.data.find((each: { id: string }) => each.id === id);
    expect(listed).toMatchObject({ content: 'expired', subject: null });
    const content = await ask('GET', `/v1/messages/${id}/content`);
    expect([content.status, content.body.error.code]).toEqual([410, 'content_gone']);
    expect((await ask('GET', `/v1/messages/${id}/events`)).status).toBe(200);
  });

  test('keeps all contents during a legal hold', async () => {
    const { id } = (await send()).body;
    await cancel(id);
    await age(id, 31);
    for (const active of [true, true]) {
      expect((await ask('PUT', '/v1/organization/holds', { active })).body.legal_hold_since).not.toBeNull();
      expect(await round()).toBe(0);
    }
    expect((await ask('PUT', '/v1/organization/holds', { active: false })).body.legal_hold_since).toBeNull();
    expect(await round()).toBe(1);
  });

  test('keeps contents while a recipient is not final, and for at least an hour after that', async () => {
    await keptDays(0);
    const open = (await send({ scheduled_at: new Date(Date.now() + 20 * DAY_MS).toISOString() })).body.id;
    await age(open, 300);
    expect(await round()).toBe(0);
    await cancel(open);
    await age(open, 0);
    expect(await round()).toBe(0);
    await age(open, 1);
    expect(await round()).toBe(1);
    await keptDays(30);
  });

  test('goes on behind a page of contents that are all needed', async () => {
    const messageId: string = (await send()).body.id;
    const page = Array.from({ length: 500 }, (_, number): OldContent => {
      const id = `${number}`.padStart(8, '0');
      return { id: `${id}-0000-4000-8000-000000000000`, kind: 'message', messageId, storedAt: '2026-01-01T00:00:00Z' };
    });
    const asked: (OldContent | null)[] = [];
    const contents: Retention['contents'] = async ({ after }) => (asked.push(after) === 1 ? page : []);
    expect(await round({ ...createPostgresRetention({ pool }), contents })).toBe(0);
    expect(asked).toEqual([null, page.at(-1)]);
  });

  test('answers a repeated send as before, with its addresses, although the content has expired', async () => {
    const headers = { 'idempotency-key': 'once' };
    const first = await send({ to: ['ann@example.net', 'bob@example.net'] }, headers);
    await cancel(first.body.id);
    await age(first.body.id, 40);
    expect(await round()).toBe(1);
    const again = await send({ to: ['ann@example.net', 'bob@example.net'] }, headers);
    expect([again.body, again.headers['idempotent-replayed']]).toEqual([first.body, 'true']);
  });

  test('removes contacts that were replaced by others, but not the current one', async () => {
    await ask('PATCH', '/v1/organization', { contact: 'old@example.net' });
    await ask('PATCH', '/v1/organization', { contact: 'new@example.net' });
    await pool.query(`update vault.contents set created_at = now() - interval '60 days' where kind = 'contact'`);
    expect(await round()).toBe(1);
    expect((await loadOrganization(service.deps.context, organizationId)).contact).toBe('new@example.net');
  });

  test('keeps the contact of an auditor until their removal', async () => {
    const { context } = service.deps;
    const auditor = { name: 'Ann', email: 'ann@auditors.example', expires_at: '2099-01-01T00:00:00Z' };
    const { id } = (await ask('POST', '/v1/audit/auditors', auditor)).body;
    const old = `update vault.contents set created_at = now() - interval '60 days' where kind = 'contact'`;
    await pool.query(old);
    expect(await round()).toBe(0);
    expect((await ask('GET', `/v1/audit/auditors/${id}`)).body).toMatchObject({ email: 'ann@auditors.example' });
    await removeAuditor(context, origin(), { auditorId: id });
    expect(await round()).toBe(1);
    const { rows } = await pool.query(`select 1 from vault.contents where body::text like '%auditors.example%'`);
    expect(rows).toEqual([]);
  });

  test('keeps the contact of a member until their removal, even if their address is erased', async () => {
    const { body: member } = await ask('POST', '/v1/members', { email: 'bea@members.example', role: 'owner' });
    await pool.query(`update vault.contents set created_at = now() - interval '60 days' where kind = 'contact'`);
    expect(await round()).toBe(0);
    expect((await ask('POST', '/v1/erasures', { address: 'bea@members.example' })).status).toBe(202);
    expect((await ask('GET', `/v1/members/${member.id}`)).body).toMatchObject({ email: 'bea@members.example' });
    await removeMember(service.deps.context, origin(), { memberId: member.id, by: 'operator' });
    expect(await round()).toBe(1);
    const { rows } = await pool.query(`select 1 from vault.contents where body::text like '%members.example%'`);
    expect(rows).toEqual([]);
  });

  test('removes orphans that no event names', async () => {
    const body = { kind: 'reply' as const, messageId: 'msg_none', text: 'x' };
    const orphan = { ...body, kind: 'message' as const };
    const id = real.uuid();
    await pool.query(
      `insert into vault.contents (id, organization_id, kind, message_id, body, created_at)
       values ($1, $2, 'message', 'msg_aaaaaaaaaaaaaaaaaaaaaaaaaa', $3, now() - interval '31 days')`,
      [id, organizationId, JSON.stringify(orphan)],
    );
    expect(await round()).toBe(1);
  });

  test('shows content that is missing without a record as a fault, never as expired', async () => {
    const missing: string[] = [];
    const { id } = (await send()).body;
    await pool.query('delete from vault.contents where message_id = $1', [id]);
    expect((await ask('GET', `/v1/messages/${id}`)).body.content).toBeNull();
    expect((await ask('GET', `/v1/messages/${id}/content`)).status).toBe(503);
    const contents = createPostgresContents({ pool, onMissing: (ids) => missing.push(...ids) });
    const lost = real.uuid();
    await contents.heads([lost, lost]);
    await contents.get([lost]);
    expect(missing).toEqual([lost, lost]);
  });

  test('never removes recent or needed contents, removes all others, and records each removal, in any order', async () => {
    await keptDays(7);
    const known: { id: string; isOpen: boolean; days: number }[] = [];
    for (let number = 0; number < 60; number += 1) {
      const days = (number * 7) % 20;
      const isOpen = number % 3 === 0;
      const { id } = (await send()).body;
      if (!isOpen) await cancel(id);
      await age(id, days + 0.5);
      known.push({ id, isOpen, days });
    }
    const expected = known.filter(({ isOpen, days }) => !isOpen && days >= 7).map(({ id }) => id);
    // One process dies after one of its batches, and another continues.
    const postgres = createPostgresRetention({ pool });
    const dying: Retention = {
      ...postgres,
      contents: (query) => postgres.contents({ ...query, limit: 7 }),
      expire: async (ids, at) => {
        await postgres.expire(ids, at);
        throw new Error('the process dies');
      },
    };
    await expect(round(dying)).rejects.toThrow('the process dies');
    await round();
    const statusOf = async ({ id }: { id: string }) => [id, (await ask('GET', `/v1/messages/${id}`)).body.content];
    const shown = await Promise.all(known.map(statusOf));
    expect(shown.filter(([, content]) => content === 'expired').map(([id]) => id)).toEqual(expected);
    expect(shown.filter(([, content]) => content === 'stored')).toHaveLength(known.length - expected.length);
    expect(await round()).toBe(0);
  });

  test('changes nothing in the read models, which are the same after a rebuild', async () => {
    const { store } = service.deps.context;
    expect((await pool.query(`select 1 from vault.contents where kind = 'expired'`)).rowCount).toBeGreaterThan(30);
    await ask('GET', '/v1/messages');
    const names = PROJECTIONS.map(({ name }) => name);
    expect(await service.deps.readModels.waitFor(names, await store.head())).toBe(true);
    const live = await allRows(pool);
    await rebuild({ pool, store, logger: silentLogger }, PROJECTIONS);
    expect(await allRows(pool)).toEqual(live);
  });
});
