import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createPostgresEventStore } from '../../src/adapters/event-store.ts';
import { createSystem } from '../../src/adapters/system.ts';
import { copyLog } from '../../src/composition/copy-log.ts';
import { treeOf } from '../../src/domain/audit/leaf.ts';
import { eventCodec } from '../../src/domain/kernel/codec.ts';
import type { EventStore } from '../../src/domain/kernel/event-store.ts';
import { createPool } from '../../src/lib/postgres/postgres.ts';
import { openEventStoreDb } from '../contracts/event-store/eventstoredb-store.ts';
import { aContext, events, first, newStream, next } from '../contracts/event-store/samples.ts';
import { type EventStoreDbDouble, startEventStoreDbDouble } from '../support/eventstoredb-double/start.ts';
import { createAuditTreesOf } from '../support/in-memory/audit-trees.ts';
import { createInMemoryEventStore } from '../support/in-memory-event-store.ts';
import { silentLogger } from '../support/logger.ts';
import { migratedDatabase } from '../support/postgres.ts';
import { slowness } from '../support/slowness.ts';

const FAR_MS = 30;
const STREAMS = 400;

describe('copying a log', () => {
  const system = createSystem();
  let source: EventStore;
  let double: EventStoreDbDouble;
  let target: EventStore;
  let copy: Parameters<typeof copyLog>[0];
  let url: string;

  beforeEach(async () => {
    source = createInMemoryEventStore({ codec: eventCodec, system });
    double = await startEventStoreDbDouble();
    target = openEventStoreDb(double.url);
    const database = await migratedDatabase();
    url = database.url;
    const pool = createPool({ url, name: 'test', logger: silentLogger });
    onTestFinished(database.drop);
    onTestFinished(() => pool.end());
    onTestFinished(double.close);
    onTestFinished(target.close);
    copy = { source, target, targetKeepsOrder: true, pool };
  });
  /** First events of a quiet service, where each stream's events are adjacent in the log. Then many at once. */
  const fill = async (): Promise<void> => {
    const streams = Array.from({ length: STREAMS }, () => newStream());
    for (const [index, stream] of streams.entries()) {
      await source.append(first(stream, events(2)));
      await source.append({ ...next(stream, 1, events(1)), context: { ...aContext, requestId: `req_${index}` } });
    }
    for (const stream of streams) await source.append(next(stream, 2, events(1)));
    for (const stream of streams) await source.append(next(stream, 3, events(1)));
  };

  const allOf = async (store: EventStore): Promise<readonly unknown[]> => {
    const { events: all } = await store.readAll({ limit: 100_000 });
    return all.map(({ position: _, ...event }) => event);
  };

  it('does not wait for a distant server after each event, and keeps their order', async () => {
    await fill();
    double.costs.callMs = FAR_MS;
    const beganMs = performance.now();
    const { events: copied } = await copyLog(copy);
    const tookMs = performance.now() - beganMs;
    expect(copied).toBe(5 * STREAMS);
    expect(double.counts().append.calls).toBe(copied + 1); // one for the log's id
    expect(tookMs).toBeLessThan(((copied * FAR_MS) / 20) * slowness());
    expect(await allOf(target)).toEqual(await allOf(source));
  });

  it('resumes where it was interrupted', async () => {
    await fill();
    double.costs.callMs = 1;
    const cutAt = setInterval(() => {
      if (double.counts().append.events > 2 * STREAMS) double.cut();
    }, 5);
    await expect(copyLog(copy)).rejects.toThrow();
    clearInterval(cutAt);
    await expect.poll(() => target.head().then(() => 'back', String), { timeout: 10_000 }).toBe('back');
    await copyLog(copy);
    expect(await allOf(target)).toEqual(await allOf(source));
  });

  it('says so when the server omitted an event in the middle and its position is taken', async () => {
    await fill();
    await target.logId();
    double.badDays.droppedAppends.push({ code: 14, details: 'Server Is Not Ready' });
    await expect(copyLog(copy)).rejects.toThrow('Server Is Not Ready');
    await expect(copyLog(copy)).rejects.toThrow('the copy is out of order');
  });

  it('there and back preserves the audit tree of each organization', async () => {
    await fill();
    await copyLog(copy);
    const postgres = await createPostgresEventStore({ url, codec: eventCodec, system, logger: silentLogger });
    onTestFinished(postgres.close);
    await copyLog({ ...copy, source: target, target: postgres, targetKeepsOrder: false });
    expect(await allOf(postgres)).toEqual(await allOf(source));
    const [tree = ''] = (await source.readAll({ limit: 1 })).events.map(treeOf);
    const rootIn = (store: EventStore) => createAuditTreesOf(store).root(tree, 5 * STREAMS);
    expect(await rootIn(postgres)).toEqual(await rootIn(source));
  });
});
