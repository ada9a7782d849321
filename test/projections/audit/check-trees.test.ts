import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { loadAuditLog, noteDispute } from '../../../src/commands/audit.ts';
import { auditStream } from '../../../src/domain/kernel/streams.ts';
import { checkpointText, createCosigner, NO_POLICY, signatoryOf } from '../../../src/lib/transparency/transparency.ts';
import { type KeptCheckpoint, keptCheckpoint } from '../../../src/projections/audit/check/anchors.ts';
import { auditProjection } from '../../../src/projections/audit/projection.ts';
import { contextAt, NOW } from '../../support/specification.ts';
import { CHANGES, changeText, OTHER, STREAM, TREE } from '../support/audit-changes.ts';
import { HOUR_MS, openCheckedLog, witness } from '../support/checked-log.ts';
import { startRunner } from '../support/open.ts';

const signatories = (lines: string): readonly string[] =>
  lines
    .split('\n')
    .filter((line) => line !== '')
    .map(signatoryOf);

describe('a check of the audit trees', () => {
  test('finds no fault in an unchanged log and its trees, whether all of them or one', async () => {
    const { check } = await openCheckedLog();
    expect(await check()).toEqual({
      ...{ verdict: 'consistent', faults: [], faultCount: 0, isLogChanged: false, doubts: [] },
      ...{
        since: null,
        trees: 2,
        leaves: 608,
        checkpoints: 2,
        cosignatures: 0,
        contents: 0,
        replies: 0,
        withoutHashes: 0,
        clients: 0,
        anchored: { trees: 0, leaves: 0, by: [] },
        disputed: [],
      },
    });
    expect(await check(OTHER)).toMatchObject({ verdict: 'consistent', trees: 1, leaves: 5, checkpoints: 0 });
  });

  test('finds and names any change in the log or in the rows', async () => {
    const { pool, runner, check, idAt } = await openCheckedLog();
    const id = await idAt(299);
    await runner.stop();
    const tables = ['event_log.events', ...auditProjection.tables.map((table) => `read_models.${table}`)];
    const each = (sql: (table: string, saved: string) => string) =>
      pool.query(tables.map((table) => sql(table, `saved.${table.split('.')[1]}`)).join(';'));
    await pool.query('create schema saved');
    await each((table, saved) => `create table ${saved} as table ${table}`);
    for (const [what, sql, fault] of CHANGES) {
      expect({ what, changed: (await pool.query(sql)).rowCount }).toEqual({ what, changed: 1 });
      const { verdict, faults: found } = await check();
      // One change is one sentence, whatever else contradicts it.
      const sentences = [expect.stringContaining(fault.replace('ID', id))];
      expect({ what, verdict, found }).toEqual({ what, verdict: 'faults', found: sentences });
      await each((table, saved) => `truncate ${table}; insert into ${table} select * from ${saved}`);
    }
    expect(await check()).toMatchObject({ verdict: 'consistent' });
    await changeText(pool);
    expect((await check()).faults).toEqual([
      expect.stringMatching(
        /^the copy of event \S+ \(.+leaf 256 of org_mine\) in the audit tree was changed: data.keyId was "key_1" and is "key_2"/,
      ),
    ]);
  });

  test('verifies cosignatures of known witnesses, and finds rows whose cosignatures differ from the log', async () => {
    const { pool, check, cosign } = await openCheckedLog();
    await cosign();
    await cosign(createCosigner('unknown.example', randomBytes(32)));
    const anchored = { trees: 1, leaves: 602, by: ['w'] };
    expect(await check()).toMatchObject({ verdict: 'no fault', cosignatures: 2, anchored });
    const { rows } = await pool.query('select cosignatures from read_models.audit_checkpoints where size = 602');
    const of = (sql: string) => pool.query(`update read_models.audit_checkpoints set ${sql} where size = 602`);
    const missing = expect.stringContaining('it is missing from the row of its checkpoint');
    for (const [sql, faults] of [
      [`cosignatures = ''`, [missing, missing]],
      [`cosigners = '{}'`, [missing, missing]],
      [
        `cosignatures = cosignatures || 'more'`,
        ['org_mine: audit_checkpoints has cosignatures that are not in the log'],
      ],
    ] as const) {
      await of(sql);
      expect(await check()).toMatchObject({ verdict: 'faults', faults });
      await pool.query(`update read_models.audit_checkpoints set cosignatures = $1, cosigners = $2 where size = 602`, [
        rows[0].cosignatures,
        signatories(rows[0].cosignatures),
      ]);
      expect(await check()).toMatchObject({ verdict: 'no fault' });
    }
  });

  test('finds no fault only if the log agrees with something outside the service', async () => {
    const { context, check, cosign, append, follow } = await openCheckedLog();
    // Without a witness, an intruder with the signing key could have made everything that is compared.
    await cosign();
    const nothing = { trees: 0, leaves: 0, by: [] };
    expect(await check(TREE, { policy: NO_POLICY })).toMatchObject({ verdict: 'consistent', anchored: nothing });
    const { last } = (await loadAuditLog(context, TREE)).state;
    const note = keptCheckpoint('kept.txt', last?.note ?? '');
    if (note === null) throw new Error('the checkpoint is not a note');
    const kept = (changed: Partial<KeptCheckpoint> = {}) =>
      check(TREE, { policy: NO_POLICY, kept: [{ ...note, ...changed }] });
    expect(await kept()).toMatchObject({ verdict: 'no fault', anchored: { trees: 1, leaves: 602, by: ['kept.txt'] } });
    expect(await kept({ root: randomBytes(32) })).toMatchObject({
      verdict: 'faults',
      faults: [expect.stringMatching(/^kept\.txt has a different root for the first 602 leaves of org_mine/)],
    });
    expect(await kept({ size: 9_999 })).toMatchObject({
      verdict: 'faults',
      faults: [
        expect.stringMatching(
          /^kept\.txt covers 9999 leaves of org_mine, but the log has only 604: its end was cut off/,
        ),
      ],
    });
    // Without a valid signature of the log a file proves nothing, neither for it nor against it.
    const forged = keptCheckpoint('kept.txt', (last?.note ?? '').replace('\n602\n', '\n601\n'));
    for (const changed of [forged ?? note, { ...(forged ?? note), root: note.root, size: note.size }]) {
      expect(await check(TREE, { policy: NO_POLICY, kept: [changed] })).toMatchObject({
        ...{ verdict: 'undecided', faults: [], anchored: nothing },
        doubts: ['kept.txt is not signed by a key of org_mine: the file is damaged, or of another log'],
      });
    }
    const system = { ...createSystem(), now: () => new Date(Date.now() + 2 * HOUR_MS) };
    expect(await check(TREE, { system })).toMatchObject({ verdict: 'no fault', doubts: [] });
    await append(1, 'apiKey-key_1', TREE);
    await follow();
    expect(await check(TREE, { system })).toMatchObject({
      verdict: 'undecided',
      doubts: [expect.stringMatching(/^org_mine: nothing after leaf 602 is signed/)],
    });
  });

  test('doubts a log whose witnesses have fallen silent', async () => {
    const { check, cosign } = await openCheckedLog();
    const system = { ...createSystem(), now: () => new Date(Date.now() + 2 * HOUR_MS) };
    const doubts = [expect.stringMatching(/^org_mine: the witnesses have not cosigned its checkpoints since 2/)];
    expect(await check(TREE, { system })).toMatchObject({ verdict: 'undecided', doubts });
    await cosign();
    expect(await check(TREE, { system })).toMatchObject({ verdict: 'no fault', doubts: [] });
  });

  test('finds a cosignature of a witness that has cosigned a different checkpoint', async () => {
    const { check, cosign } = await openCheckedLog();
    await cosign(witness, checkpointText({ origin: 'mail.example/other', size: 602, root: randomBytes(32) }));
    const { verdict, faults } = await check();
    expect({ verdict, faults }).toEqual({
      verdict: 'faults',
      faults: [
        expect.stringMatching(/^the cosignature at leaf 603 .+ witness\.example\+\w{8} did not cosign the first 602/),
      ],
    });
  });

  test('names the logs that a witness contradicts, and finds a row that hides it', async () => {
    const { pool, context, check, append, follow } = await openCheckedLog();
    const { last } = (await loadAuditLog(context, TREE)).state;
    const noted = { tree: TREE, note: last?.note ?? '', witness: 'w', cosignedSize: 9_999 };
    expect(await noteDispute(context, noted)).toBe(true);
    await follow();
    const dispute = expect.stringMatching(/^org_mine: the witness w has cosigned 9999 leaves of a different history/);
    expect(await check()).toMatchObject({ verdict: 'faults', faults: [dispute], disputed: [TREE] });
    // What follows from the dispute is not said again.
    await append(1, 'apiKey-key_1', TREE);
    await follow();
    const system = { ...createSystem(), now: () => new Date(Date.now() + 2 * HOUR_MS) };
    expect(await check(TREE, { system, policy: NO_POLICY })).toMatchObject({ faults: [dispute], doubts: [] });
    await pool.query('update read_models.audit_trees set disputed = false');
    expect(await check()).toMatchObject({
      verdict: 'faults',
      faults: ['org_mine: its row says disputed false, but the log says true', dispute],
    });
  });

  test('does not report what the projection has not read yet, and compares it later', async () => {
    const { pool, store, runner, append, follow, check } = await openCheckedLog();
    await runner.stop();
    await append(400, 'apiKey-key_400', TREE);
    await append(3, 'apiKey-key_3', 'org_new');
    expect(await check()).toMatchObject({ verdict: 'consistent', leaves: 608 });
    startRunner(pool, store, [auditProjection]);
    await follow();
    expect(await check()).toMatchObject({ verdict: 'consistent', leaves: 1_011 });
  });

  test('does not count leaves as compared that are written, signed and cosigned during the check', async () => {
    const { store, append, follow, sign, cosign, check } = await openCheckedLog();
    await cosign();
    let isBegun = false;
    const readAll: typeof store.readAll = async (options) => {
      if (!isBegun) {
        isBegun = true;
        await append(50, 'apiKey-key_50', TREE);
        await follow();
        await sign();
        await cosign();
      }
      return store.readAll(options);
    };
    const { verdict, leaves, anchored } = await check(TREE, { store: { ...store, readAll } });
    expect({ verdict, leaves, anchored: anchored.leaves }).toEqual({ verdict: 'no fault', leaves: 604, anchored: 604 });
  });

  test('finds a signed checkpoint with another root or more leaves than exist, before the projection has read it', async () => {
    const { store, runner, check } = await openCheckedLog();
    await runner.stop();
    const own = await store.readStream(auditStream(TREE));
    const signed = own.findLast(({ type }) => type === 'CheckpointSigned');
    if (signed?.type !== 'CheckpointSigned') throw new Error('nothing was signed');
    const forge = async (revision: number, size: number) =>
      store.append({
        stream: auditStream(TREE),
        expected: revision,
        events: [{ id: createSystem().uuid(), type: 'CheckpointSigned', data: { ...signed.data, size } }],
        context: contextAt(NOW, TREE),
      });
    await forge(signed.revision, 9_999);
    await forge(signed.revision + 1, 601);
    const { verdict, faults } = await check();
    expect({ verdict, faults }).toEqual({
      verdict: 'faults',
      faults: [
        expect.stringMatching(
          /^the checkpoint at leaf 603 of org_mine, event .+: its note has a different size.+; it covers 9999 leaves, but only 603/,
        ),
        expect.stringMatching(
          /^the checkpoint at leaf 604 .+: its note has a different size.+; the first 601 leaves of the log have a different root/,
        ),
      ],
    });
  });

  test('names an event that cannot be read, and stops there', async () => {
    const { pool, runner, check } = await openCheckedLog();
    await runner.stop();
    await pool.query(`update event_log.events set data = '{"keyId":7}' where stream = '${STREAM}' and revision = 299`);
    const { verdict, faults } = await check();
    expect({ verdict, faults }).toEqual({
      verdict: 'faults',
      faults: [expect.stringMatching(/^the check ended after event .+ is not a valid event: KeyRevoked/)],
    });
  });

  test('is undecided while the trees are of another version, or were never built', async () => {
    const { pool, runner, check } = await openCheckedLog();
    await runner.stop();
    await pool.query(`update read_models.checkpoints set version = version - 1 where name = 'audit'`);
    expect(await check()).toMatchObject({ verdict: 'undecided', doubts: [expect.stringContaining('being rebuilt')] });
    await pool.query(`delete from read_models.checkpoints where name = 'audit'`);
    expect(await check()).toMatchObject({
      verdict: 'undecided',
      doubts: [expect.stringContaining('do not exist yet')],
    });
  });
});
