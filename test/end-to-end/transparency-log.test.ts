import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { leafOf } from '../../src/domain/audit/leaf.ts';
import type { RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import type { AuditTrees } from '../../src/domain/ports/requests.ts';
import { inTransaction } from '../../src/lib/projections/projections.ts';
import {
  checkpointText,
  consistencyRanges,
  createCosigner,
  createSigner,
  inclusionRanges,
  parseNote,
  parseVerifierKey,
  signedAt,
  signedNote,
} from '../../src/lib/transparency/transparency.ts';
import { auditProjection } from '../../src/projections/audit/projection.ts';
import { parseTilePath, TILE_WIDTH, tilePath } from '../../src/projections/audit/tiles.ts';
import { createAuditTrees } from '../../src/projections/audit/tree.ts';
import { openPool } from '../projections/support/open.ts';
import { contextAt, NOW, recordedAs } from '../support/specification.ts';
import { goIsMissing, runGo } from './transparency-log/run-go.ts';

const TREE = 'org_go';
const SIZE = 70_000;
/** Trees up to this size are proved completely. */
const SMALL = 130;
const RANDOM_PROOFS = 200;

const events = Array.from({ length: SIZE }, (_, n) =>
  recordedAs(
    { type: 'KeyRevoked', data: { keyId: `key_${n}` } },
    {
      id: `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`,
      stream: `apiKey-key_${n}`,
      position: String(n + 1).padStart(16, '0'),
    },
    contextAt(NOW, TREE),
  ),
) as readonly RecordedEvent[];

const check = async (trees: AuditTrees, kind: 'inclusion' | 'consistency', from: number, size: number) => {
  const ranges = kind === 'inclusion' ? inclusionRanges(from, size) : consistencyRanges(from, size);
  const [root, ...proof] = await trees.hashes(TREE, [{ from: 0, to: size }, ...ranges]);
  return JSON.stringify({
    kind,
    from,
    size,
    root: root?.toString('base64'),
    proof: proof.map((hash) => hash.toString('base64')),
  });
};

const checks = async (trees: AuditTrees): Promise<readonly string[]> => {
  const all: string[] = [];
  for (let size = 1; size <= SMALL; size += 1) {
    for (let from = 0; from < size; from += 1) {
      all.push(await check(trees, 'inclusion', from, size), await check(trees, 'consistency', from + 1, size));
    }
  }
  for (let n = 0; n < RANDOM_PROOFS; n += 1) {
    const from = randomBytes(4).readUInt32BE() % SIZE;
    all.push(await check(trees, 'inclusion', from, SIZE), await check(trees, 'consistency', from + 1, SIZE));
  }
  return all;
};

/** Writes every tile that a log of this size serves. */
const writeTiles = async (trees: AuditTrees, folder: string): Promise<void> => {
  for (let level = 0, count = SIZE; count > 0; level += 1, count = Math.floor(count / TILE_WIDTH)) {
    for (let tile = 0; tile * TILE_WIDTH < count; tile += 1) {
      const width = Math.min(TILE_WIDTH, count - tile * TILE_WIDTH);
      const path = tilePath({ level, tile, width });
      expect(parseTilePath(path)).toEqual({ level, tile, width });
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), await trees.tile(TREE, { level, tile }));
    }
  }
};

const ORIGIN = `mail.example/v1/audit/tlog/${TREE}`;

const notes = async (trees: AuditTrees): Promise<readonly string[]> => {
  const log = createSigner(ORIGIN, randomBytes(32));
  const witness = createCosigner('witness.example', randomBytes(32));
  const text = checkpointText({ origin: ORIGIN, size: SIZE, root: await trees.root(TREE, SIZE) });
  const lines = [witness.signatureLine(text, 1_700_000_000), log.signatureLine(text)];
  const [vkey, cosigner] = [log, witness].map(({ verifierKey }) => verifierKey.text);
  return [
    JSON.stringify({ vkey, note: signedNote(text, lines.slice(1)) }),
    JSON.stringify({ vkey, cosigner, note: signedNote(text, lines) }),
  ];
};

type ProofCounts = Readonly<Record<'proofs' | 'tiled' | 'notes', number>> &
  Readonly<Record<'skey' | 'vkey' | 'cosigner' | 'note', string>>;

test.skipIf(goIsMissing)(
  "the audit log and Go's transparency log agree on proofs, tiles and notes in both directions",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'outbox-transparency-log-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const pool = await openPool();
    const client = await pool.connect();
    for (let from = 0; from < SIZE; from += 5_000) {
      const batch = events.slice(from, from + 5_000);
      await inTransaction(client, 'read_models', () => auditProjection.apply(client, batch));
    }
    client.release();
    const trees = createAuditTrees(pool);
    const all = await checks(trees);
    const signed = await notes(trees);
    await writeTiles(trees, folder);
    const write = (name: string, lines: readonly string[]) => writeFile(join(folder, name), `${lines.join('\n')}\n`);
    await write('leaves.txt', events.map(leafOf));
    await write('checks.jsonl', all);
    await write('notes.jsonl', signed);
    const { skey, vkey, cosigner, note, ...counts } = (await runGo('check', [folder])) as ProofCounts;
    expect(counts).toEqual({ proofs: all.length, tiled: 2 * RANDOM_PROOFS, notes: signed.length });
    expect(signedAt(parseNote(note), parseVerifierKey(vkey))).toBe(0);
    expect(signedAt(parseNote(note), parseVerifierKey(cosigner))).toBe(1_700_000_000);
    const seed = Buffer.from(skey.split('+').slice(4).join('+'), 'base64').subarray(1);
    expect(createSigner('go.example/log', seed).verifierKey.text).toBe(vkey);
  },
  400_000,
);
