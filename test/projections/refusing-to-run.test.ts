import { describe, expect, test } from 'vitest';
import { eventCodec, UnknownEvent } from '../../src/domain/kernel/codec.ts';
import { type EventStore, LOG_START, PositionNotInLog } from '../../src/domain/kernel/event-store.ts';
import { StartRefused } from '../../src/lib/async/async.ts';
import { requireReached } from '../../src/lib/projections/projections.ts';
import { PROJECTIONS } from '../../src/projections/all.ts';
import { rebuild } from '../../src/projections/runner.ts';
import { createInMemoryEventStore } from '../support/in-memory-event-store.ts';
import { silentLogger } from '../support/logger.ts';
import { contextAt } from '../support/specification.ts';
import { appendKey, LONG_AGO, newStore, system, until } from './support/keys-log.ts';
import { caughtUp, openPool, startRunner } from './support/open.ts';

describe('projections refuse to run', () => {
  test('on a log other than the one in their checkpoints, with one sentence', async () => {
    const pool = await openPool();
    const store = newStore();
    await appendKey(store, 'key_1');
    const first = startRunner(pool, store);
    expect(await caughtUp(pool, store)).toBe(true);
    await first.stop();
    const other = newStore();
    const refused = startRunner(pool, other);
    expect(await until(() => refused.ended() !== null)).toBe(true);
    expect(refused.ended()).toBeInstanceOf(StartRefused);
    expect(String(refused.ended())).toContain(`the read models were made from log ${await store.logId()}`);

    // The solution that the error message names.
    await rebuild({ pool, store: other, logger: silentLogger }, PROJECTIONS);
    startRunner(pool, other);
    await appendKey(other, 'key_2');
    expect(await caughtUp(pool, other)).toBe(true);
    const { rows } = await pool.query('select key_id from read_models.api_keys');
    expect(rows).toEqual([{ key_id: 'key_2' }]);
  });

  test('on an older copy of their log, which ends before their last event', async () => {
    const pool = await openPool();
    const store = newStore();
    await appendKey(store, 'key_1');
    const runner = startRunner(pool, store);
    expect(await caughtUp(pool, store)).toBe(true);
    await runner.stop();
    await expect(requireReached(pool, store)).resolves.toBeUndefined();
    const asked: unknown[] = [];
    const failing = (fault: Error): Pick<EventStore, 'readAll'> => ({
      readAll: async ({ from }) => {
        asked.push(from);
        throw fault;
      },
    });
    await expect(requireReached(pool, failing(new PositionNotInLog()))).rejects.toBeInstanceOf(StartRefused);
    await expect(requireReached(pool, failing(new Error('it is away')))).rejects.toThrow('it is away');
    expect(asked).toEqual([await store.head(), await store.head()]);
  });

  test('past an event of a newer version: all stop before it with a reason', async () => {
    const pool = await openPool();
    let newest = false;
    const decode: typeof eventCodec.decode = (stored) => {
      if (stored.type === 'KeyRevoked' && !newest) throw new UnknownEvent(stored.type, 7);
      return eventCodec.decode(stored);
    };
    const store = createInMemoryEventStore({ codec: { ...eventCodec, decode }, system });
    await appendKey(store, 'key_1');
    const runner = startRunner(pool, store);
    expect(await caughtUp(pool, store)).toBe(true);
    const before = await store.head();
    await store.append({
      stream: 'apiKey-key_1',
      expected: 0,
      context: contextAt(LONG_AGO),
      events: [{ type: 'KeyRevoked', data: { keyId: 'key_1' }, id: system.uuid() }],
    });
    expect(await until(() => runner.ended() !== null)).toBe(true);
    expect(String(runner.ended())).toContain(
      'this process is older than the log: it does not know event KeyRevoked version 7',
    );
    const { rows } = await pool.query('select distinct position from read_models.checkpoints');
    expect(rows).toEqual([{ position: before }]);
    newest = true;
    startRunner(pool, store);
    expect(await caughtUp(pool, store)).toBe(true);
    expect((await store.readAll({ from: LOG_START, limit: 10 })).events).toHaveLength(2);
  });
});
