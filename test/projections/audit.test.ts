import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { Pool } from 'pg';
import { describe, expect, test } from 'vitest';
import { createSystem } from '../../src/adapters/system.ts';
import { leafOf, treeOf } from '../../src/domain/audit/leaf.ts';
import { customerEventId } from '../../src/domain/customer-events/customer-events.ts';
import { LOG_START, type RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import { NotInTree } from '../../src/domain/ports/requests.ts';
import { inTransaction } from '../../src/lib/projections/projections.ts';
import {
  consistencyRanges,
  EMPTY_ROOT,
  inclusionRanges,
  isConsistent,
  leafHash,
  nodeHash,
  rootOfInclusion,
} from '../../src/lib/transparency/transparency.ts';
import { auditProjection } from '../../src/projections/audit/projection.ts';
import { createAuditTrees } from '../../src/projections/audit/tree.ts';
import { contextAt, recordedAs } from '../support/specification.ts';
import { createHistory } from './support/history.ts';
import { openPool } from './support/open.ts';
import { rowsOf } from './support/read-model-rows.ts';

const { uuid } = createSystem();
const START = Date.parse('2026-01-01T00:00:00.000Z');

/** Events of organizations with different shares. Their times sometimes go back. */
const eventsOf = (count: number): readonly RecordedEvent[] =>
  Array.from({ length: count }, (_, n) => {
    const organizationId = ['org_a', 'org_a', 'org_b', '', 'org_a', 'org_a'][n % 6] ?? '';
    const at = new Date(START + n * 1000 - (n % 7 === 0 ? 60_000 : 0)).toISOString();
    const keyId = `key_${n % 3}`;
    const place = { id: uuid(), stream: `apiKey-${keyId}`, position: String(n + 1).padStart(16, '0') } as const;
    const context = { ...contextAt(at, organizationId), actor: n % 2 === 0 ? `key:${keyId}` : `recipient:${n}` };
    return recordedAs({ type: 'KeyRevoked', data: { keyId } }, place, context) as RecordedEvent;
  });

const applyIn = async (pool: Pool, batches: readonly (readonly RecordedEvent[])[]): Promise<void> => {
  const client = await pool.connect();
  try {
    for (const batch of batches) await inTransaction(client, 'read_models', () => auditProjection.apply(client, batch));
  } finally {
    client.release();
  }
};

const cut = (events: readonly RecordedEvent[], sizes: readonly number[]): readonly (readonly RecordedEvent[])[] => {
  const batches: (readonly RecordedEvent[])[] = [];
  for (let [from, turn] = [0, 0]; from < events.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    batches.push(events.slice(from, from + size));
    from += size;
  }
  return batches;
};

const mth = (hashes: readonly Buffer[]): Buffer => {
  if (hashes.length <= 1) return hashes[0] ?? EMPTY_ROOT;
  let k = 1;
  while (k * 2 < hashes.length) k *= 2;
  return nodeHash(mth(hashes.slice(0, k)), mth(hashes.slice(k)));
};

const clear = (pool: Pool) =>
  pool.query(auditProjection.tables.map((table) => `truncate read_models.${table};`).join(''));

describe('the audit trees', () => {
  test('contain whole streams, so that a gap in a stream reveals an omitted event', async () => {
    const history = await createHistory({ seed: 5 });
    await history.go(1_000);
    const { events } = await history.store.readAll({ from: LOG_START, limit: 10_000 });
    expect(events.length).toBeGreaterThan(900);
    const trees = Map.groupBy(events, ({ stream }) => stream);
    const split = [...trees].filter(([, own]) => new Set(own.map(treeOf)).size > 1).map(([stream]) => stream);
    // Any organization can release a destination, and all share it. The verifier knows this exception.
    expect(split.filter((stream) => !stream.startsWith('destination-'))).toEqual([]);
  });

  test('consist of the same rows however the log is split into batches', async () => {
    const pool = await openPool();
    const events = eventsOf(1_700);
    const rowsAfter = async (sizes: readonly number[]) => {
      await clear(pool);
      await applyIn(pool, cut(events, sizes));
      return rowsOf(pool, auditProjection);
    };
    const whole = await rowsAfter([events.length]);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 6 }), async (sizes) => {
        expect(await rowsAfter(sizes)).toEqual(whole);
      }),
      { numRuns: 6 },
    );
  });

  test('prove each leaf and each smaller size, and find events by id', async () => {
    const pool = await openPool();
    const events = eventsOf(1_700);
    await applyIn(pool, cut(events, [97]));
    const trees = createAuditTrees(pool);
    for (const tree of ['org_a', 'org_b', 'service']) {
      const own = events.filter((event) => treeOf(event) === tree);
      const leaves = own.map(leafOf);
      const hashes = leaves.map(leafHash);
      const size = own.length;
      expect(await trees.size(tree)).toBe(size);
      const root = mth(hashes);
      expect(await trees.root(tree, size)).toEqual(root);
      expect(await trees.leaves(tree, 0, 1_000)).toEqual(leaves);
      expect(await trees.leaves(tree, 1, 2)).toEqual(leaves.slice(256, 512));
      for (let index = 0; index < size; index += 61) {
        const proof = await trees.hashes(tree, inclusionRanges(index, size));
        expect(rootOfInclusion(index, size, hashes[index] as Buffer, proof)).toEqual(root);
        const smaller = await trees.hashes(tree, consistencyRanges(index, size));
        expect(isConsistent([index, mth(hashes.slice(0, index))], [size, root], smaller)).toBe(true);
      }
      const sought = own.filter((_, index) => index % 61 === 0);
      const found = await trees.findAll(tree, [...sought.map(({ id }) => id), randomUUID()]);
      expect([...found].map(([id, { index, leaf }]) => [id, index, leaf])).toEqual(
        sought.map((event) => [event.id, own.indexOf(event), leafOf(event)]),
      );
      for (const { id } of sought) {
        expect((await trees.findCustomerEvent(tree, customerEventId(id, 0)))?.parsed.id).toBe(id);
        expect(await trees.findCustomerEvent(tree, customerEventId(id, 51))).toBeNull();
      }
      await expect(trees.root(tree, size + 1)).rejects.toBeInstanceOf(NotInTree);
      expect(await trees.findAll(tree, [randomUUID()])).toEqual(new Map());
    }
  });

  test('are stored in tiles of tiles once they are large', async () => {
    const pool = await openPool();
    const events = eventsOf(6 * 257 * 70)
      .filter((event) => treeOf(event) === 'org_a')
      .slice(0, 256 * 257 + 5);
    await applyIn(pool, cut(events, [4_000]));
    expect(await createAuditTrees(pool).root('org_a', events.length)).toEqual(mth(events.map(leafOf).map(leafHash)));
    const { rows } = await pool.query(
      'select level, tile::int, length(hashes) / 32 as width from read_models.audit_tiles order by 1, 2',
    );
    expect(rows).toEqual([
      { level: 1, tile: 0, width: 256 },
      { level: 1, tile: 1, width: 1 },
      { level: 2, tile: 0, width: 1 },
    ]);
  });
});
