import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPostgresEventStore } from '../../../src/adapters/event-store.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import { type EventStore, LOG_START, WrongExpectedRevision } from '../../../src/domain/kernel/event-store.ts';
import { partitionsOf } from '../../support/log-rows.ts';
import { migratedDatabase, type TestDatabase } from '../../support/postgres.ts';
import { PATIENCE_MS } from './harness.ts';
import { events, first, newStream, next, textsOf } from './samples.ts';
import { silentLogger } from './silent-logger.ts';

/** The smallest allowed size. */
const SIZE = 2_000;

let database: TestDatabase;
let sql: Client;
let store: EventStore;

beforeEach(async () => {
  database = await migratedDatabase();
  store = await createPostgresEventStore({
    url: database.url,
    codec: eventCodec,
    system: createSystem(),
    logger: silentLogger,
    patienceMs: PATIENCE_MS,
  });
  sql = new Client({ connectionString: database.url });
  await sql.connect();
  await sql.query(`begin; ${partitionsOf(SIZE)}; commit`);
});
afterEach(async () => {
  await store.close();
  await sql.end();
  await database.drop();
});

/** Appends events, each to a new stream. */
const fill = async (count: number): Promise<void> => {
  for (let written = 0; written < count; written += 500) {
    await store.append(first(newStream(), events(Math.min(500, count - written))));
  }
};

const partitions = async (): Promise<readonly string[]> =>
  (await sql.query('select name from event_log.partitions where detached_at is null order by first')).rows.map(
    ({ name }) => name,
  );

const everything = async (): Promise<number> => {
  let count = 0;
  for (let from = LOG_START; ; ) {
    const page = await store.readAll({ from, limit: 700 });
    if (page.events.length === 0) return count;
    count += page.events.length;
    from = page.position;
  }
};

describe('the log in PostgreSQL, partitioned by position', () => {
  test('creates partitions ahead of its head even while the table is locked, and keeps a stream in order across them', async () => {
    const stream = newStream();
    await store.append(first(stream, events(1, 'a')));
    expect(await partitions()).toEqual(['events_000001']);
    await fill(SIZE - 500);
    expect(await partitions()).toEqual(['events_000001', 'events_000002']);

    // A vacuum of the whole table holds this lock: the next 1,000 events are appended without a new partition.
    await sql.query('begin; lock table event_log.events in share update exclusive mode');
    await fill(1_000);
    await sql.query('commit');
    await fill(1_000);
    expect(await partitions()).toEqual(['events_000001', 'events_000002', 'events_000003']);

    const { revision } = await store.append(next(stream, 0, events(2, 'b')));
    expect(revision).toBe(2);
    expect(textsOf(await store.readStream(stream))).toEqual(['a0', 'b0', 'b1']);
    expect(textsOf(await store.readStream(stream, { direction: 'backwards', limit: 2 }))).toEqual(['b1', 'b0']);
    expect(textsOf(await store.readStream(stream, { from: 1 }))).toEqual(['b0', 'b1']);
    await expect(store.append(next(stream, 0, events(1)))).rejects.toBeInstanceOf(WrongExpectedRevision);
    await expect(store.append(first(stream, events(1)))).rejects.toBeInstanceOf(WrongExpectedRevision);

    const { rows } = await sql.query(
      'select min(position)::int as low, max(position)::int as high, count(*)::int from event_log.events',
    );
    expect(rows[0]).toEqual({ low: 1, high: rows[0].count, count: rows[0].count });
    expect(await everything()).toBe(rows[0].count);
    expect(Number(await store.head())).toBe(rows[0].count);
  });

  test('gives a repeated append its first answer, even several partitions later', async () => {
    const append = first(newStream(), events(2));
    const answer = await store.append(append);
    await fill(2 * SIZE);
    expect(await store.append(append)).toEqual(answer);
  });

  test('never answers with fewer events while a partition is detached, and as before once it is attached', async () => {
    const [old, long, young] = [newStream(), newStream(), newStream()];
    await store.append(first(old, events(3)));
    const appended = await store.append(first(long, events(1, 'l')));
    await fill(2 * SIZE);
    await store.append(next(long, 0, events(1, 'm')));
    await store.append(first(young, events(2)));
    const before = await everything();
    await expect(sql.query("select event_log.detach_partition('events_000003')")).rejects.toThrow('is not full');

    await sql.query("select event_log.detach_partition('events_000001')");
    const detached = { name: 'EventsDetached', message: expect.stringContaining('log partitions') };
    await expect(store.readStream(old)).rejects.toMatchObject(detached);
    await expect(store.readStream(old, { direction: 'backwards', limit: 1 })).rejects.toMatchObject(detached);
    await expect(store.readStream(long)).rejects.toMatchObject(detached);
    await expect(store.readStream(long, { direction: 'backwards' })).rejects.toMatchObject(detached);
    await expect(store.readAll({ limit: 10 })).rejects.toMatchObject(detached);
    await expect(store.readAll({ limit: 10, filter: { categories: ['webhook'] } })).rejects.toMatchObject(detached);
    await expect(store.readAll({ direction: 'backwards', limit: 2 * SIZE + 100 })).rejects.toMatchObject(detached);
    // Events in the other partitions are still served.
    expect(textsOf(await store.readStream(long, { from: 1 }))).toEqual(['m0']);
    expect(await store.readStream(young)).toHaveLength(2);
    expect(await store.readStream(newStream())).toEqual([]);
    const from = String(SIZE).padStart(appended.position.length, '0');
    expect((await store.readAll({ from, limit: 10 })).events).toHaveLength(10);
    expect((await store.readAll({ direction: 'backwards', limit: 10 })).events).toHaveLength(10);
    // No existing stream can be started again, and every stream can continue.
    await expect(store.append(first(old, events(1)))).rejects.toBeInstanceOf(WrongExpectedRevision);
    expect((await store.append(next(old, 2, events(1)))).revision).toBe(3);

    const deleted = await sql.query('delete from event_log_archive.events_000001 where position = 1 returning *');
    await expect(sql.query("select event_log.attach_partition('events_000001')")).rejects.toThrow('does not hold');
    const { position, stream, revision, id, type, category, data, metadata } = deleted.rows[0];
    await sql.query('insert into event_log_archive.events_000001 values ($1, $2, $3, $4, $5, $6, $7, $8)', [
      ...[position, stream, revision, id, type, category, data, metadata],
    ]);
    await sql.query("select event_log.attach_partition('events_000001')");
    expect(await store.readStream(old)).toHaveLength(4);
    expect(textsOf(await store.readStream(long))).toEqual(['l0', 'm0']);
    expect(await everything()).toBe(before + 1);
  });

  test('reads the head and a stream of one partition without scanning the others', async () => {
    await fill(3 * SIZE);
    const stream = newStream();
    await store.append(first(stream, events(1)));
    // A real log has many short streams. With a few long ones in a partition this small, the planner would consider the
    // range of positions more selective than the stream.
    const apart = "update event_log.events set stream = 'short-' || position, revision = 0 where stream <> $1";
    await sql.query(apart, [stream]);
    await sql.query('analyze event_log.events, event_log.streams');
    await sql.query('set enable_seqscan = off; set enable_bitmapscan = off');
    const plan = await sql.query({
      text: `explain (analyze, costs off) select e.* from event_log.streams h cross join lateral (
        select * from event_log.events s where s.stream = h.stream and s.revision >= 0
          and s.position >= h.first_position and s.position <= h.last_position order by s.revision limit 10) e
        where h.stream = '${stream}'`,
      rowMode: 'array',
    });
    const lines = plan.rows.flat() as string[];
    const scans = lines.filter((line) => line.includes('Scan using events_'));
    expect(scans.length).toBeGreaterThan(3);
    expect(scans.filter((line) => !line.includes('never executed'))).toHaveLength(1);
    expect(scans.every((line) => line.includes('stream_revision_idx'))).toBe(true);
  });
});
