import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createPostgresSecrets } from '../../../src/adapters/secrets/postgres.ts';
import { auditCheckNotes } from '../../../src/composition/open-operator.ts';
import { NO_POLICY } from '../../../src/lib/transparency/transparency.ts';
import type { CheckTrees } from '../../../src/projections/audit/check/check-trees.ts';
import { NOW } from '../../support/specification.ts';
import { STREAM, TREE } from '../support/audit-changes.ts';
import { HOUR_MS, openCheckedLog } from '../support/checked-log.ts';

/** A log whose checks keep where they ended in the vault, read anew each time as other processes do. */
const openIncremental = async () => {
  const opened = await openCheckedLog();
  const { pool, store, context, check } = opened;
  const vault = (current = 'a secret key of thirty-two bytes') =>
    createPostgresSecrets({ pool, system: context.system, secretKeys: { current } });
  const read: string[] = [];
  const counting: typeof store = {
    ...store,
    readAll: async (options) => {
      const page = await store.readAll(options);
      read.push(...page.events.map(({ id }) => id));
      return page;
    },
  };
  /** Checks all trees. @returns also how many events were read. */
  const next = async (changed: Partial<CheckTrees> = {}) => {
    read.length = 0;
    const checked = await check(undefined, { store: counting, notes: auditCheckNotes(vault()), ...changed });
    return { ...checked, read: read.length };
  };
  return { ...opened, vault, next };
};

const WHOLE = { verdict: 'consistent', faults: [], leaves: 608, since: null };

describe('a check after another', () => {
  test('reads only new events, and carries on what it counted', async () => {
    const { append, follow, cosign, next } = await openIncremental();
    expect(await next()).toMatchObject({ ...WHOLE, read: 608 });
    const since = { at: new Date(NOW).toISOString(), leaves: 608 };
    expect(await next()).toMatchObject({ ...WHOLE, since, read: 0 });
    await append(400, 'apiKey-key_400', TREE);
    await append(3, 'apiKey-key_3', 'org_new');
    await follow();
    // The bundle that the last check left open is full now, and its row is another one.
    expect(await next()).toMatchObject({
      verdict: 'consistent',
      faults: [],
      trees: 3,
      leaves: 1_011,
      since,
      read: 403,
    });
    await cosign();
    expect(await next()).toMatchObject({ verdict: 'no fault', cosignatures: 1, since: { leaves: 1_011 }, read: 1 });
    const anchored = { trees: 1, leaves: 602, by: ['w'] };
    expect(await next()).toMatchObject({ verdict: 'no fault', cosignatures: 0, anchored, read: 0 });
  });

  test('finds a change behind the place where the last one ended', async () => {
    const { pool, append, follow, next } = await openIncremental();
    await next();
    await append(10, 'apiKey-key_10', TREE);
    await follow();
    await pool.query(
      `update event_log.events set data = '{"keyId":"key_2"}' where stream = 'apiKey-key_10' and revision = 4`,
    );
    const faults = [expect.stringContaining('revision 4, leaf 607 of org_mine) was changed in the log')];
    expect(await next()).toMatchObject({ verdict: 'faults', faults, read: 10 });
  });

  test('does not notice a change before that place unless it reads everything, and then does so until it is repaired', async () => {
    const { pool, next } = await openIncremental();
    await next();
    const change = (to: string) =>
      pool.query(`update event_log.events set data = $1 where stream = '${STREAM}' and revision = 5`, [to]);
    await change('{"keyId":"key_2"}');
    expect(await next()).toMatchObject({ verdict: 'consistent', read: 0 });
    const faults = [expect.stringContaining('revision 5, leaf 5 of org_mine) was changed in the log')];
    expect(await next({ fullAfterMs: 0 })).toMatchObject({ verdict: 'faults', faults, since: null, read: 608 });
    expect(await next()).toMatchObject({ verdict: 'faults', faults, since: null, read: 608 });
    await change('{"keyId":"key_1"}');
    expect(await next()).toMatchObject({ ...WHOLE, read: 608 });
    expect(await next()).toMatchObject({ verdict: 'consistent', read: 0 });
  });

  test('reads everything once the last one that did so is long enough ago', async () => {
    const { context, next } = await openIncremental();
    const after = (hours: number) => ({
      system: { ...context.system, now: () => new Date(Date.parse(NOW) + hours * HOUR_MS) },
      // Leaves without a signature would be late by now.
      policy: NO_POLICY,
      fullAfterMs: 48 * HOUR_MS,
    });
    expect(await next(after(0))).toMatchObject({ since: null, read: 608 });
    expect(await next(after(24))).toMatchObject({ since: { leaves: 608 }, read: 0 });
    expect(await next(after(47))).toMatchObject({ since: { leaves: 608 }, read: 0 });
    expect(await next(after(48))).toMatchObject({ since: null, read: 608 });
  });

  test('finds a record that was falsified, exchanged or sealed under another key, and reads everything', async () => {
    const { pool, vault, next } = await openIncremental();
    await next();
    const row = `where id = 'audit-check-end'`;
    const faults = [expect.stringContaining('the record of where the last check ended was changed in the database')];
    for (const ciphertext of [
      `set_byte(ciphertext, octet_length(ciphertext) - 1, get_byte(ciphertext, octet_length(ciphertext) - 1) # 1)`,
      `'\\x00'::bytea`,
      `(select ciphertext from vault.secrets where id = 'other')`,
    ]) {
      await vault().put('other', '', '{}');
      expect((await pool.query(`update vault.secrets set ciphertext = ${ciphertext} ${row}`)).rowCount).toBe(1);
      expect(await next()).toMatchObject({ verdict: 'faults', faults, since: null, read: 608 });
      expect(await next()).toMatchObject({ ...WHOLE, read: 608 });
    }
    const agreed = await auditCheckNotes(vault()).read();
    if (agreed === null || agreed === 'falsified') throw new Error('the record cannot be read');
    await auditCheckNotes(vault('another key of an intruder, long')).write({ ...agreed, position: '9' });
    expect(await next()).toMatchObject({ verdict: 'faults', faults, since: null, read: 608 });
    await pool.query(`delete from vault.secrets ${row}`);
    expect(await next()).toMatchObject({ ...WHOLE, read: 608 });
  });

  test('contradicts a log and its tree that were changed together', async () => {
    const { vault, next } = await openIncremental();
    await next();
    const notes = auditCheckNotes(vault());
    const agreed = await notes.read();
    if (agreed === null || agreed === 'falsified') throw new Error('the record cannot be read');
    // This stands for trees that had other leaves then.
    const trees = agreed.trees.map((each) => ({ ...each, root: randomBytes(32).toString('base64') }));
    await notes.write({ ...agreed, trees });
    expect(await next()).toMatchObject({
      ...{ verdict: 'faults', faultCount: 1, since: null, read: 608 },
      faults: [
        expect.stringMatching(/^org_mine: its first 603 leaves do not have the root that the check of \S+ found/),
      ],
    });
  });
});
