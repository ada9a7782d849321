import { describe, expect, test } from 'vitest';
import { exportHashes } from '../../../../src/domain/audit/leaf.ts';
import { readCheckpoint } from '../../../../src/domain/audit/verifier/checkpoints.ts';
import { leafHash } from '../../../../src/lib/transparency/transparency.ts';
import { createAuditLog, exportOf, mended, ORIGIN, rangeOf, verify } from '../../../support/audit-export.ts';

/** 5 leaves: a key, events and a checkpoint of them. More are checked in the same way, and each adds thousands of exports. */
const smallLog = () => {
  const log = createAuditLog();
  log.add({
    type: 'AuditKeyAdded',
    stream: 'audit-org_mine',
    data: { origin: ORIGIN, vkey: log.signer.verifierKey.text },
  });
  log.add({ stream: 'apiKey-key_1', data: { name: 'Grüße \u2028 "quoted" 𝄞' } });
  log.fill(3);
  log.sign();
  log.fill(5);
  return log;
};

const small = smallLog();
const smallKeys = { keys: [small.signer.verifierKey] };
const SMALL = Buffer.from(small.export());

/** 600 leaves in three bundles, with checkpoints at 100, 200, … 500. */
const largeLog = () => {
  const log = createAuditLog();
  for (let size = 100; size <= 500; size += 100) {
    log.fill(size);
    log.sign();
  }
  log.fill(600);
  return log;
};
const large = largeLog();
const largeKeys = { keys: [large.signer.verifierKey] };
const LARGE = large.export();
const LINES = LARGE.split('\n');
/** The line of a leaf, after the header and the hashes of the preceding bundles. */
const lineOf = (leaf: number): number => 1 + leaf + Math.floor(leaf / 256);
const idOf = (leaf: number): string => JSON.parse(large.leaves[leaf] ?? '').id;

const faultsOf = async (lines: readonly string[], options: Parameters<typeof verify>[1] = largeKeys) => {
  const { verdict, faults } = await verify(mended(Buffer.from(lines.join('\n'))), options);
  expect(verdict).toBe('not verified');
  return faults;
};

const containing = (...texts: readonly string[]) =>
  expect.arrayContaining(texts.map((text) => expect.stringContaining(text)));

/**
 * Asserts that changed bytes fail to verify, also with a corrected checksum, unless the correction restores the export.
 */
const requireFound = async (changed: Buffer, what: string): Promise<void> => {
  const mend = mended(changed);
  for (const bytes of mend.equals(SMALL) ? [changed] : [changed, mend]) {
    expect([what, (await verify(bytes, smallKeys)).verdict]).toEqual([what, 'not verified']);
  }
};

/** Every export that results from removing, repeating or moving one line, or from inserting a foreign one. */
const movedLines = (lines: readonly string[], at: number): readonly (readonly string[])[] => {
  const line = lines[at] ?? '';
  const others = lines.toSpliced(at, 1);
  const moved = lines.map((_, to) => others.toSpliced(to, 0, line)).filter((_, to) => to !== at);
  const foreign = createAuditLog().add({ stream: 'message-msg_foreign' });
  return [others, lines.toSpliced(at, 0, line), lines.toSpliced(at + 1, 0, foreign), ...moved];
};

describe('an altered export', () => {
  test('is found, whichever byte was flipped', async () => {
    expect(await verify(SMALL, smallKeys)).toMatchObject({
      verdict: 'consistent',
      faults: [],
      doubts: [],
      checkpoints: 1,
    });
    for (let at = 0; at < SMALL.length; at += 1) {
      const flipped = Buffer.from(SMALL);
      flipped[at] = (flipped[at] as number) ^ (1 << (at % 8));
      await requireFound(flipped, `byte ${at}`);
    }
  }, 300_000);

  test('is found, wherever it is cut off, and whichever byte was removed or inserted', async () => {
    for (let at = 0; at < SMALL.length; at += 1) {
      const [before, behind] = [SMALL.subarray(0, at), SMALL.subarray(at)];
      await requireFound(before, `cut at ${at}`);
      await requireFound(Buffer.concat([before, behind.subarray(1)]), `without byte ${at}`);
      await requireFound(Buffer.concat([before, Buffer.from('a'), behind]), `with a byte at ${at}`);
    }
  }, 300_000);

  test('is found, whichever line was removed, repeated, moved or followed by another leaf', async () => {
    const lines = SMALL.toString().split('\n').slice(0, -1);
    for (const at of lines.keys()) {
      for (const changed of movedLines(lines, at)) {
        await requireFound(Buffer.from(`${changed.join('\n')}\n`), `line ${at} of ${changed.length}`);
      }
    }
  }, 300_000);

  test('is located by its leaf, when that was altered', async () => {
    const altered = large.leaves[310]?.replace('"data":{}', '"data":{"to":"x"}') ?? '';
    expect(await faultsOf(LINES.with(lineOf(310), altered))).toEqual([
      `leaf 310 was altered: now it says event ${idOf(310)} (MessageAccepted, message-msg_155 revision 0, 2026-11-21T12:00:00.000Z)`,
    ]);
  });

  test('names a leaf that is missing, and its place', async () => {
    const faults = await faultsOf(LINES.toSpliced(lineOf(310), 1));
    expect(faults[0]).toMatch(`leaf 310 is missing between event ${idOf(309)} (`);
    expect(faults[0]).toMatch(` and event ${idOf(311)} (`);
    expect(faults).toContain('revision 0 of message-msg_155 is not in the log');
  });

  test('names a leaf that was inserted, repeated or moved', async () => {
    const foreign = createAuditLog().add({ stream: 'message-msg_foreign' });
    expect(await faultsOf(LINES.toSpliced(lineOf(20), 0, foreign))).toEqual(
      containing(
        `event ${JSON.parse(foreign).id} (MessageAccepted, message-msg_foreign revision 0`,
        'was inserted before leaf 20',
      ),
    );
    const line = LINES[lineOf(30)] ?? '';
    expect(await faultsOf(LINES.toSpliced(lineOf(50), 0, line))).toEqual(
      containing(`leaf 30, event ${idOf(30)}`, 'appears twice'),
    );
    expect(await faultsOf(LINES.toSpliced(lineOf(30), 1).toSpliced(lineOf(50), 0, line))).toEqual(
      containing(`leaf 30, event ${idOf(30)}`, 'is in the wrong place'),
    );
    expect(await faultsOf(LINES.toSpliced(lineOf(400), 0, line))).toEqual(
      containing('was inserted before leaf 400', `event ${idOf(30)} appears twice: at leaf 30 and at leaf 400`),
    );
  });

  test('names a bundle that is missing together with its hashes', async () => {
    expect((await faultsOf(LINES.toSpliced(lineOf(256), 257)))[0]).toBe('leaves 256 to 511 are missing');
    expect((await faultsOf(LINES.toSpliced(lineOf(256) - 1, 1)))[0]).toBe('the hashes after leaf 255 are missing');
  });

  test('says that its end is cut off', async () => {
    const cut = LINES.slice(0, lineOf(312)).concat('');
    expect(await faultsOf(cut)).toContain('the end is cut off: no checkpoint follows leaf 311');
  });

  test('is narrowed to between two checkpoints, when a leaf and its hash were altered together', async () => {
    const leaves = large.leaves.with(370, large.leaves[370]?.replace('"data":{}', '"data":{"to":"x"}') ?? '');
    const { hashes } = rangeOf(leaves, 0);
    const text = exportOf(leaves, { from: 0, size: 600, edge: hashes, note: large.note(600) });
    expect(await faultsOf(text.split('\n'))).toEqual([
      'the leaves do not match the signed root: the log was changed at or after leaf 300 and before leaf 400',
    ]);
  });

  test('blames the hashes when only these were altered', async () => {
    const hashes = Buffer.concat(large.leaves.slice(256, 512).map(leafHash));
    hashes[40] = (hashes[40] ?? 0) ^ 0xff;
    expect(await faultsOf(LINES.with(lineOf(511) + 1, exportHashes({ tile: 1, hashes })))).toEqual([
      'the hashes after leaf 256 were altered, but not the leaves',
    ]);
  });

  test('is found only by an earlier checkpoint, when it was rewritten and signed again', async () => {
    const earlier = createAuditLog();
    earlier.fill(600);
    const since = [{ name: 'earlier.note', signed: readCheckpoint(earlier.note(500)) }];
    const leaves = earlier.leaves.with(300, earlier.leaves[300]?.replace('"data":{}', '"data":{"to":"x"}') ?? '');
    const rewritten = createAuditLog(leaves);
    const note = rewritten.note(600, [earlier.signer.signatureLine]);
    const keys = [earlier.signer.verifierKey];
    expect(await verify(earlier.export(), { keys, since })).toMatchObject({ verdict: 'verified', checkpoints: 1 });
    expect(await verify(rewritten.export({ note }), { keys })).toMatchObject({ verdict: 'consistent' });
    expect(await faultsOf(rewritten.export({ note }).split('\n'), { keys, since })).toEqual([
      'the log was rewritten: the earlier checkpoint has a different root for the first 500 leaves than this export. ' +
        'Keep earlier.note and the export: together they prove it',
    ]);
    const shorter = rewritten.export({ size: 400, note: rewritten.note(400, [earlier.signer.signatureLine]) });
    expect((await faultsOf(shorter.split('\n'), { keys, since }))[0]).toMatch(
      'covers 500 leaves, but this export ends after 400',
    );
  });
});
