import { describe, expect, test } from 'vitest';
import { readPostgresOrigins } from '../../../src/adapters/request-origins.ts';
import { createPostgresRetention } from '../../../src/adapters/retention/postgres.ts';
import { NO_POLICY } from '../../../src/lib/transparency/transparency.ts';
import { checkTrees } from '../../../src/projections/audit/check/check-trees.ts';
import { ADDRESS } from '../../support/traces.ts';
import { createErasing } from '../../workers/erasing.ts';

const OTHER = 'bob@example.org';
const DAY_MS = 86_400_000;

describe('a check of the contents behind the audit trees', () => {
  const { ask, send, erase, attempt, rounds, ...made } = createErasing();
  const { pool } = made;

  const check = async () => {
    await ask('GET', '/v1/audit/log');
    const { store, system, contents } = made.context();
    const { signal } = new AbortController();
    const origins = readPostgresOrigins(pool());
    const parts = { db: pool(), store, system, contents, origins, policy: NO_POLICY, restShare: 0, signal };
    const { verdict, faults, contents: compared, replies, withoutHashes } = await checkTrees(parts);
    return { verdict, faults, compared, replies, withoutHashes };
  };
  const contentOf = async (id: string, kind = 'message'): Promise<string> => {
    const { rows } = await pool().query('select id from vault.contents where message_id = $1 and kind = $2', [
      id,
      kind,
    ]);
    return rows[0].id;
  };
  const fault = (id: string, words: string) => ({
    verdict: 'faults',
    faults: [expect.stringMatching(new RegExp(`^message ${id} of org_\\w+, event \\S+: .*${words}`))],
  });
  const set = (id: string, sql: string, values: readonly unknown[] = []) =>
    pool().query(`update vault.contents set ${sql} where id = $1`, [id, ...values]);

  test('compares contents that exist, were partly erased, or were removed by retention on time', async () => {
    const [kept, erased, expired] = [await send({ html: '<p>Hi</p>' }), await send({ cc: OTHER }), await send()];
    for (const { id } of [kept, erased, expired]) await attempt(id, 'delivered');
    const contentId = await contentOf(expired.id);
    const retention = createPostgresRetention({ pool: pool() });
    await retention.expire([contentId], new Date(Date.now() + 30 * DAY_MS));
    expect(await check()).toEqual({ verdict: 'consistent', faults: [], compared: 3, replies: 4, withoutHashes: 0 });
    await erase();
    await rounds(2);
    expect(await check()).toEqual({ verdict: 'consistent', faults: [], compared: 3, replies: 4, withoutHashes: 0 });
  });

  test('finds contents that were replaced, deleted, or cannot be read', async () => {
    const { id } = await send();
    const contentId = await contentOf(id);
    const { rows } = await pool().query('select kind, body from vault.contents where id = $1', [contentId]);
    const { kind, body } = rows[0];
    const other = JSON.stringify(body).replaceAll(`Dear ${ADDRESS}`, `Dear ${OTHER}`);
    const restore = () => set(contentId, 'kind = $2, body = $3', [kind, JSON.stringify(body)]);
    for (const [changed, words] of [
      [other, 'differs from the one that was accepted'],
      [JSON.stringify({ ...body, salts: [] }), ''],
      [JSON.stringify({ ...body, salts: undefined }), 'was replaced by something that no event covers'],
      [JSON.stringify({ ...body, recipients: 7 }), 'cannot be read'],
      [JSON.stringify({ kind: 'message' }), ''],
    ] as const) {
      await set(contentId, 'body = $2', [changed]);
      expect(await check()).toMatchObject(fault(id, words));
      await restore();
    }
    expect(await check()).toMatchObject({ verdict: 'consistent' });
    await pool().query('delete from vault.contents where id = $1', [contentId]);
    expect(await check()).toMatchObject(fault(id, 'is missing without a record of an erasure or of retention'));
  });

  test('finds a removal that is unrecorded or too early, and hashes of different content', async () => {
    const { id } = await send();
    const contentId = await contentOf(id);
    const remove = async (kind: 'expired' | 'erased', more: object) => {
      await set(contentId, 'kind = $2, body = $3', [kind, JSON.stringify({ kind, ...more })]);
    };
    const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString();
    await remove('erased', { at: inDays(0), erasureId: 'ers_x' });
    expect(await check()).toMatchObject(fault(id, 'by erasure ers_x, which is not in the log'));
    await remove('expired', { at: inDays(29) });
    expect(await check()).toMatchObject(fault(id, 'before its retention ended'));
    await remove('expired', { at: 'never' });
    expect(await check()).toMatchObject(fault(id, 'before its retention ended'));
    await remove('expired', { at: inDays(30), parts: [{ name: 'text', hash: 'AAAA' }] });
    expect(await check()).toMatchObject(fault(id, 'the rest of its content belongs to another message'));
    await remove('expired', { at: inDays(30) });
    expect(await check()).toMatchObject({ verdict: 'consistent', withoutHashes: 1 });
    await ask('PATCH', '/v1/organization', { content_retention_days: 2 });
    await remove('expired', { at: inDays(2) });
    expect(await check()).toMatchObject({ verdict: 'consistent' });
  });

  test('finds a reply that was replaced, deleted, or removed too early', async () => {
    const { id } = await send();
    await attempt(id, 'delivered');
    const replyId = await contentOf(id, 'reply');
    const { rows } = await pool().query('select body from vault.contents where id = $1', [replyId]);
    const { body } = rows[0];
    const removed = (more: object) => ['erased', { kind: 'erased', at: new Date().toISOString(), ...more }] as const;
    for (const [[kind, changed], words] of [
      [['reply', { ...body, text: 'said otherwise' }], 'its reply differs from the one that was received'],
      [['reply', { ...body, salt: 'AAAA' }], 'its reply differs from the one that was received'],
      [['reply', { ...body, salt: undefined }], 'its reply was replaced by something that no event covers'],
      [['link', { kind: 'link', messageId: id, url: 'x' }], 'its reply was replaced by something that no event covers'],
      [removed({ erasureId: 'ers_x' }), 'its reply was removed by erasure ers_x, which is not in the log'],
      [
        ['expired', { kind: 'expired', at: new Date().toISOString() }],
        'its reply was removed at .*, before its retention ended',
      ],
    ] as const) {
      await set(replyId, 'kind = $2, body = $3', [kind, JSON.stringify(changed)]);
      expect(await check()).toMatchObject(fault(id, words));
    }
    await pool().query('delete from vault.contents where id = $1', [replyId]);
    expect(await check()).toMatchObject(fault(id, 'its reply is missing without a record of an erasure'));
  });

  test('finds a client that was replaced or removed too early', async () => {
    await ask('PATCH', '/v1/organization', { content_retention_days: 20 });
    const { rows } = await pool().query('select id, address, at from vault.request_origins');
    const [{ id, address }] = rows;
    const change = (sql: string, value: unknown) =>
      pool().query(`update vault.request_origins set ${sql} = $2 where id = $1`, [id, value]);
    const named = (words: string) => ({
      verdict: 'faults',
      faults: [expect.stringMatching(new RegExp(`^event \\S+ of org_\\w+: its recorded client ${words}`))],
    });
    expect(await check()).toMatchObject({ verdict: 'consistent' });
    for (const [column, value] of [
      ['address', '198.51.100.7'],
      ['user_agent', null],
      ['salt', 'AAAA'],
      ['organization_id', 'org_x'],
    ] as const) {
      const { rows: before } = await pool().query(`select ${column} as was from vault.request_origins where id = $1`, [
        id,
      ]);
      await change(column, value);
      const words =
        column === 'organization_id' ? 'was removed before 365 days' : 'differs from the one that made the request';
      expect(await check()).toMatchObject(named(words));
      await change(column, before[0].was);
    }
    expect(await check()).toMatchObject({ verdict: 'consistent' });
    expect(address).toBe('127.0.0.1');
  });
});
