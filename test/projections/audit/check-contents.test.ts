import { describe, expect, test } from 'vitest';
import { createPostgresRetention } from '../../../src/adapters/retention/postgres.ts';
import { checkTrees } from '../../../src/projections/audit/check/check-trees.ts';
import { ADDRESS } from '../../support/traces.ts';
import { createErasing } from '../../workers/erasing.ts';

const OTHER = 'bob@example.org';
const DAY_MS = 86_400_000;

describe('a check of the audit trees, of contents', () => {
  const { ask, send, erase, attempt, rounds, ...made } = createErasing();
  const { pool } = made;

  const check = async () => {
    await ask('GET', '/v1/audit/log');
    const { store, system, contents } = made.context();
    const { signal } = new AbortController();
    const parts = { db: pool(), store, system, contents, witnesses: [], restShare: 0, signal };
    const { verdict, faults, contents: compared, withoutHashes } = await checkTrees(parts);
    return { verdict, faults, compared, withoutHashes };
  };
  const contentOf = async (id: string): Promise<string> => {
    const { rows } = await pool().query('select id from vault.contents where message_id = $1 and kind = $2', [
      id,
      'message',
    ]);
    return rows[0].id;
  };
  const fault = (id: string, words: string) => ({
    verdict: 'faults',
    faults: [expect.stringMatching(new RegExp(`^message ${id} of org_\\w+, event \\S+: .*${words}`))],
  });
  const set = (id: string, sql: string, values: readonly unknown[] = []) =>
    pool().query(`update vault.contents set ${sql} where id = $1`, [id, ...values]);

  test('compares those that are there, were erased in part, or removed by retention in time', async () => {
    const [kept, erased, expired] = [await send({ html: '<p>Hi</p>' }), await send({ cc: OTHER }), await send()];
    for (const { id } of [kept, erased, expired]) await attempt(id, 'delivered');
    const contentId = await contentOf(expired.id);
    const retention = createPostgresRetention({ pool: pool() });
    await retention.expire([contentId], new Date(Date.now() + 30 * DAY_MS));
    expect(await check()).toEqual({ verdict: 'no fault', faults: [], compared: 3, withoutHashes: 0 });
    await erase();
    await rounds(2);
    expect(await check()).toEqual({ verdict: 'no fault', faults: [], compared: 3, withoutHashes: 0 });
  }, 60_000);

  test('finds what was replaced, deleted, or cannot be read', async () => {
    const { id } = await send();
    const contentId = await contentOf(id);
    const { rows } = await pool().query('select kind, body from vault.contents where id = $1', [contentId]);
    const { kind, body } = rows[0];
    const other = JSON.stringify(body).replaceAll(`Dear ${ADDRESS}`, `Dear ${OTHER}`);
    const restore = () => set(contentId, 'kind = $2, body = $3', [kind, JSON.stringify(body)]);
    for (const [changed, words] of [
      [other, 'is another than the one that was accepted'],
      [JSON.stringify({ ...body, salts: [] }), ''],
      [JSON.stringify({ ...body, salts: undefined }), 'is bound to nothing'],
      [JSON.stringify({ ...body, recipients: 7 }), 'cannot be read'],
      [JSON.stringify({ kind: 'message' }), ''],
    ] as const) {
      await set(contentId, 'body = $2', [changed]);
      expect(await check()).toMatchObject(fault(id, words));
      await restore();
    }
    expect(await check()).toMatchObject({ verdict: 'no fault' });
    await pool().query('delete from vault.contents where id = $1', [contentId]);
    expect(await check()).toMatchObject(fault(id, 'is gone, and neither an erasure nor retention is on record'));
  }, 60_000);

  test('finds a removal that is not on record, or before its time, and hashes of another content', async () => {
    const { id } = await send();
    const contentId = await contentOf(id);
    const remove = async (kind: 'expired' | 'erased', more: object) => {
      await set(contentId, 'kind = $2, body = $3', [kind, JSON.stringify({ kind, ...more })]);
    };
    const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString();
    await remove('erased', { at: inDays(0), erasureId: 'ers_x' });
    expect(await check()).toMatchObject(fault(id, 'by the erasure ers_x, which is not in the log'));
    await remove('expired', { at: inDays(29) });
    expect(await check()).toMatchObject(fault(id, 'before the time that contents are kept'));
    await remove('expired', { at: 'never' });
    expect(await check()).toMatchObject(fault(id, 'before the time that contents are kept'));
    await remove('expired', { at: inDays(30), parts: [{ name: 'text', hash: 'AAAA' }] });
    expect(await check()).toMatchObject(fault(id, 'what is left of its content is of another one'));
    await remove('expired', { at: inDays(30) });
    expect(await check()).toMatchObject({ verdict: 'no fault', withoutHashes: 1 });
    await ask('PATCH', '/v1/organization', { content_retention_days: 2 });
    await remove('expired', { at: inDays(2) });
    expect(await check()).toMatchObject({ verdict: 'no fault' });
  }, 60_000);
});
