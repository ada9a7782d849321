import { Client } from 'pg';
import { afterEach, expect, test } from 'vitest';
import { formatPosition } from '../../src/adapters/event-store/eventstoredb-position.ts';
import { apiClient, eventually } from '../support/api-client.ts';
import { startEventStoreDbDouble } from '../support/eventstoredb-double/start.ts';
import { freshDatabase } from '../support/postgres.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';
import { allDelivered, sendMany } from '../support/senders.ts';

/**
 * A start costs what is in hand, not what the log holds. The logs here are long in proportion to how quickly they are
 * looked through: a start that reads all of one takes a minute.
 */
const READY_MS_MAX = 5_000;
const EVENTS = 1_000_000;
/** Looked through at 5,000 a second, as ten million are at 200,000. */
const EVENTS_OF_DOUBLE = 250_000;
const SCANNED_PER_SECOND = 5_000;
/** What followers look at where they go on from, a page of it each at most. */
const EVENTS_READ_MAX = 5_000;

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const place = async () => {
  const data = await newDataDir();
  undo.push(data.remove);
  const database = await freshDatabase();
  undo.push(database.drop);
  const db = new Client({ connectionString: database.url });
  await db.connect();
  undo.push(() => db.end());
  const env = { DATABASE_URL: database.url, SECRET_KEY: 'a secret key that is long enough for a test' };
  return { db, env, dataDir: data.path };
};

const start = async (options: Parameters<typeof startProgram>[0]): Promise<Program> => {
  const program = await startProgram(options);
  undo.push(() => program.end('SIGTERM'));
  return program;
};

/** A service that has worked, and has been stopped once every read model knew of it. @returns its key. */
const workedAndStopped = async (options: Parameters<typeof startProgram>[0], db: Client): Promise<string> => {
  const program = await start(options);
  const api = apiClient(program.baseUrl, program.keys.live);
  const sending = sendMany(api, 3);
  await sending.done;
  await allDelivered(api, sending.accepted, 20_000);
  await eventually(
    () => db.query('select distinct position from read_models.checkpoints'),
    ({ rows }) => rows.length === 1,
  );
  await program.end('SIGTERM');
  return program.keys.live;
};

/** Says that the read models have seen all of it, so that starts alone are looked at. */
const everythingSeen = async (db: Client, position: string): Promise<void> => {
  await db.query('update read_models.checkpoints set position = $1', [position]);
  await db.query('update vault.webhook_recording set position = $1', [position]);
};

/** From the start of the process until a key is let in. */
const readyAfterMs = async (options: Parameters<typeof startProgram>[0], key: string): Promise<number> => {
  const begunMs = performance.now();
  const { baseUrl } = await start(options);
  const headers = { authorization: `Bearer ${key}` };
  await eventually(
    () => fetch(`${baseUrl}/v1/organization`, { headers }),
    ({ status }) => status === 200,
  );
  return performance.now() - begunMs;
};

/** Copies of the last event of some message, as messages of their own. */
const LENGTHEN = `
  insert into event_log.events (position, stream, revision, id, type, schema_version, category, data, metadata)
  select h.head + n, 'message-msg_' || n, 0, gen_random_uuid(), e.type, e.schema_version, e.category, e.data, e.metadata
  from (select max(position) as head from event_log.events) h,
    (select * from event_log.events where type = 'MessageAccepted' limit 1) e,
    generate_series(1, $1::bigint) n`;

test('a start on a long log in PostgreSQL is ready in less than five seconds', async () => {
  const { db, ...options } = await place();
  const key = await workedAndStopped(options, db);
  await db.query(LENGTHEN, [EVENTS]);
  await db.query('analyze event_log.events');
  const { rows } = await db.query("select lpad(max(position)::text, 16, '0') as head from event_log.events");
  await everythingSeen(db, rows[0].head);
  expect(await readyAfterMs(options, key)).toBeLessThan(READY_MS_MAX);
}, 300_000);

test.each(['24.6.0', '24.10.5'] as const)(
  'a start on a long log in EventStoreDB %s reads next to nothing of it',
  async (style) => {
    const eventStore = await startEventStoreDbDouble(style);
    undo.push(eventStore.close);
    const { db, env, dataDir } = await place();
    const options = { dataDir, env: { ...env, EVENTSTORE_URL: eventStore.url } };
    const key = await workedAndStopped(options, db);
    const { log } = eventStore;
    const sample = log.records.find(({ type }) => type === 'MessageAccepted');
    if (sample === undefined) throw new Error('no message was accepted');
    for (let n = 0; n < EVENTS_OF_DOUBLE; n += 1) {
      const events = [{ ...sample, id: crypto.randomUUID() }];
      log.append({ stream: `message-msg_${n}`, expected: 'no-stream', events });
    }
    const head = BigInt(log.records.at(-1)?.position ?? 0);
    await everythingSeen(db, formatPosition({ commit: head, prepare: head }));
    eventStore.costs.scannedPerSecond = SCANNED_PER_SECOND;
    const before = eventStore.counts();
    expect(await readyAfterMs(options, key)).toBeLessThan(READY_MS_MAX);
    const { readAll, subscribe } = eventStore.counts();
    const read = readAll.events + subscribe.events - before.readAll.events - before.subscribe.events;
    expect(read).toBeLessThan(EVENTS_READ_MAX);
    expect(eventStore.openReads()).toBeLessThan(3);
  },
  300_000,
);
