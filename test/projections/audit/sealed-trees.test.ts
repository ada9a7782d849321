import { expect, test } from 'vitest';
import { LogContradiction } from '../../../src/commands/audit.ts';
import { auditStream } from '../../../src/domain/kernel/streams.ts';
import { auditProjection } from '../../../src/projections/audit/projection.ts';
import { rebuild } from '../../../src/projections/runner.ts';
import { silentLogger } from '../../support/logger.ts';
import { TREE } from '../support/audit-changes.ts';
import { openCheckedLog } from '../support/checked-log.ts';

/** A log with 3 events that are not signed yet. */
const open = async () => {
  const opened = await openCheckedLog();
  await opened.append(3, 'apiKey-key_unsigned', TREE);
  await opened.follow();
  const signedSizes = async () =>
    (await opened.store.readStream(auditStream(TREE))).flatMap((event) =>
      event.type === 'CheckpointSigned' ? [event.data.size] : [],
    );
  return { ...opened, signedSizes };
};

const CHANGED =
  /^the tables of the audit tree of org_\w+ do not have the \d+ leaves that were read from the log: they were changed/;

test.each([
  [
    'a leaf',
    `update read_models.audit_tail set leaf = replace(leaf, 'key_1', 'key_2') where leaf like '%key_unsigned%'`,
  ],
  [
    'a hash that no leaf leads to',
    `update read_models.audit_trees set hashes = repeat('A', length(hashes) - 1) || '='`,
  ],
  ['a seal', `update read_models.audit_trees set seal = null`],
  [
    'the seal of another tree',
    `update read_models.audit_trees t set seal = o.seal from read_models.audit_trees o where t.tree <> o.tree`,
  ],
])('%s that was changed before it was signed is never signed', async (_, sql) => {
  const { pool, sign, signedSizes, check, append, follow, store } = await open();
  const before = await signedSizes();
  await pool.query(sql);
  await expect(sign()).rejects.toThrow(LogContradiction);
  await expect(sign()).rejects.toThrow(CHANGED);
  expect(await check()).toMatchObject({ verdict: 'faults', faultCount: expect.any(Number), isLogChanged: false });
  // Later events do not seal it.
  await append(2, 'apiKey-key_later', TREE);
  await follow();
  await expect(sign()).rejects.toThrow(CHANGED);
  expect(await signedSizes()).toEqual(before);
  await rebuild({ pool, store, logger: silentLogger }, [auditProjection]);
  await sign();
  expect(await signedSizes()).toHaveLength(before.length + 1);
});

test('a foreign event is not signed, even if its note was removed', async () => {
  const { pool, store, sign, runner } = await open();
  await runner.stop();
  await pool.query(
    `update event_log.events set data = replace(data, 'key_1', 'key_2') where stream = 'apiKey-key_unsigned'`,
  );
  await rebuild({ pool, store, logger: silentLogger }, [auditProjection]);
  await expect(sign()).rejects.toThrow(/did not write event/);
  await pool.query('update read_models.audit_trees set foreign_leaf = null, foreign_event = null');
  await expect(sign()).rejects.toThrow(CHANGED);
});

test('trees of an earlier version are signed once they are rebuilt, without an alarm', async () => {
  const { pool, sign, signedSizes } = await open();
  const before = await signedSizes();
  await pool.query(`update read_models.checkpoints set version = version - 1 where name = 'audit'`);
  await pool.query('update read_models.audit_trees set hashes = null, seal = null');
  await sign();
  expect(await signedSizes()).toEqual(before);
});
