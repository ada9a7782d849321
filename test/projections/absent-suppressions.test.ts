import { describe, expect, test, vi } from 'vitest';
import type { StreamName } from '../../src/domain/kernel/event-store.ts';
import type { SuppressionEvent } from '../../src/domain/kernel/events.ts';
import { suppressionStream } from '../../src/domain/kernel/streams.ts';
import { suppressionId } from '../../src/domain/suppression/suppression.ts';
import { suppressionsProjection, withAbsentSuppressions } from '../../src/projections/suppressions.ts';
import { silentLogger } from '../support/logger.ts';
import { contextAt, NOW } from '../support/specification.ts';
import { openApplied } from './support/applied.ts';

const idOf = (name: string): string => suppressionId('live', name);
const streamOf = (name: string): StreamName => suppressionStream(idOf(name));

const added = (name: string): SuppressionEvent => ({
  type: 'SuppressionAdded',
  data: {
    suppressionId: idOf(name),
    digest: name,
    reason: 'manual',
    scope: 'all',
    expiresAt: null,
    contentId: 'content_1',
    source: null,
  },
});

/** A read model that contains `old`, and a spy on reads of the log. */
const open = async () => {
  const applied = await openApplied(suppressionsProjection);
  await applied.given(streamOf('old'), [added('old')]);
  const readStream = vi.fn(applied.store.readStream);
  const readAll = vi.fn(applied.store.readAll);
  const store = withAbsentSuppressions({
    store: { ...applied.store, readStream, readAll },
    db: applied.pool,
    logger: silentLogger,
  });
  const countOf = async (name: string): Promise<number> => (await store.readStream(streamOf(name))).length;
  const append = (name: string) =>
    applied.store.append({
      stream: streamOf(name),
      expected: 'no-stream',
      events: [{ ...added(name), id: crypto.randomUUID() }],
      context: contextAt(NOW),
    });
  return { ...applied, readStream, readAll, countOf, append };
};

describe('a suppression stream', () => {
  test('is not read if the read model has no row for it and nothing happened since', async () => {
    const { countOf, readStream, readAll } = await open();
    const names = Array.from({ length: 50 }, (_, index) => `nobody-${index}`);
    expect(await Promise.all(names.map(countOf))).toEqual(names.map(() => 0));
    expect(readStream).not.toHaveBeenCalled();
    expect(readAll.mock.calls.length).toBeLessThanOrEqual(2);
  });

  test('is read if the read model has a row for it', async () => {
    const { countOf, readStream } = await open();
    expect(await countOf('old')).toBe(1);
    expect(readStream).toHaveBeenCalledTimes(1);
  });

  test("is read if it was appended to after the read model's position, at any time", async () => {
    const { countOf, append, given } = await open();
    expect(await countOf('new')).toBe(0);
    for (const name of ['new', 'newer', 'newest']) {
      await append(name);
      expect(await countOf(name)).toBe(1);
    }
    await given(streamOf('applied'), [added('applied')]);
    expect([await countOf('new'), await countOf('applied'), await countOf('nobody')]).toEqual([1, 1, 0]);
  });

  test('is read if the read model lags behind what the process has seen of the log', async () => {
    const applied = await openApplied(suppressionsProjection);
    await applied.given(streamOf('old'), [added('old')]);
    await applied.store.append({
      stream: streamOf('unseen'),
      expected: 'no-stream',
      events: [{ ...added('unseen'), id: crypto.randomUUID() }],
      context: contextAt(NOW),
    });
    const store = withAbsentSuppressions({ store: applied.store, db: applied.pool, logger: silentLogger });
    expect(await store.readStream(streamOf('unseen'))).toHaveLength(1);
  });

  test.each([
    ['of another log', `update read_models.checkpoints set log_id = 'other'`],
    ['of another shape', 'update read_models.checkpoints set version = 0'],
    ['gone', 'drop schema read_models cascade'],
  ])('is read if the read model is %s', async (_, statement) => {
    const { countOf, readStream, pool } = await open();
    await pool.query(statement);
    expect([await countOf('old'), await countOf('nobody')]).toEqual([1, 0]);
    expect(readStream).toHaveBeenCalledTimes(2);
  });
});
