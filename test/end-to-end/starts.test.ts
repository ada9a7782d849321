import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, Pool } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { createPostgresSecrets } from '../../src/adapters/secrets/postgres.ts';
import { createSystem } from '../../src/adapters/system.ts';
import { apiClient, eventually } from '../support/api-client.ts';
import { startEventStoreDbDouble } from '../support/eventstoredb-double/start.ts';
import { REMAKE_STREAMS } from '../support/log-rows.ts';
import { placeForTest, programForTest } from '../support/place-for-test.ts';
import type { Program, startProgram } from '../support/program.ts';
import { allDelivered, sendMany } from '../support/senders.ts';
import { slowness } from '../support/slowness.ts';

/**
 * The cost of a start depends on the work in flight, not on the length of the log. The logs here are long relative to
 * the speed at which they are scanned: a start that reads a whole log takes a minute.
 */
const READY_MS_MAX = 5_000;
/** The limit relative to the first start on an empty database, for machines under other load. */
const READY_RATIO_MAX = 2;
const readyMsMax = (first: Pick<Program, 'readyAfterMs'>): number =>
  Math.max(READY_MS_MAX * slowness(), READY_RATIO_MAX * first.readyAfterMs);

const EVENTS = 1_000_000;
/** Scanned at 5,000 a second, which corresponds to ten million at 200,000. */
const EVENTS_OF_DOUBLE = 250_000;
const SCANNED_PER_SECOND = 5_000;
/** Followers read at most one page each from their checkpoints. */
const EVENTS_READ_MAX = 5_000;

const place = async () => {
  const { dataDir, env } = await placeForTest();
  const db = new Client({ connectionString: env.DATABASE_URL });
  await db.connect();
  onTestFinished(() => db.end());
  return { db, env, dataDir };
};

/** A service that has sent mail and was stopped once every read model was up to date. */
const workedAndStopped = async (options: Parameters<typeof startProgram>[0], db: Client): Promise<Program> => {
  const program = await programForTest(options);
  const api = apiClient(program.baseUrl, program.keys.live);
  const sending = sendMany(api, 3);
  await sending.done;
  await allDelivered(api, sending.accepted, 20_000);
  await eventually(
    () => db.query('select distinct position from read_models.checkpoints'),
    ({ rows }) => rows.length === 1,
  );
  await program.end('SIGTERM');
  return program;
};

/** Marks the read models as up to date, so that only the start is measured. */
const everythingSeen = async (db: Client, position: string): Promise<void> => {
  await db.query('update read_models.checkpoints set position = $1', [position]);
  await db.query('update vault.webhook_recording set position = $1', [position]);
};

/** Time from the start of the process until a key is accepted. */
const readyAfterMs = async (options: Parameters<typeof startProgram>[0], key: string): Promise<number> => {
  const begunMs = performance.now();
  const { baseUrl } = await programForTest(options);
  const headers = { authorization: `Bearer ${key}` };
  await eventually(
    () => fetch(`${baseUrl}/v1/organization`, { headers }),
    ({ status }) => status === 200,
  );
  return performance.now() - begunMs;
};

/** Copies the last event of a message into new messages. */
const LENGTHEN = `
  insert into event_log.events (position, stream, revision, id, type, category, data, metadata)
  select h.head + n, 'message-msg_' || n, 0, gen_random_uuid(), e.type, e.category, e.data, e.metadata
  from (select max(position) as head from event_log.events) h,
    (select * from event_log.events where type = 'MessageAccepted' limit 1) e,
    generate_series(1, $1::bigint) n`;

test('a start on a long log in PostgreSQL takes less than five seconds', async () => {
  const { db, ...options } = await place();
  const first = await workedAndStopped(options, db);
  await db.query(LENGTHEN, [EVENTS]);
  await db.query(REMAKE_STREAMS);
  await db.query('analyze event_log.events');
  const { rows } = await db.query("select lpad(max(position)::text, 16, '0') as head from event_log.events");
  await everythingSeen(db, rows[0].head);
  expect(await readyAfterMs(options, first.keys.live)).toBeLessThan(readyMsMax(first));
}, 300_000);

test.each(['24.6.0', '24.10.5'] as const)(
  'a start on a long log in EventStoreDB %s reads only its end',
  async (style) => {
    const eventStore = await startEventStoreDbDouble(style);
    onTestFinished(eventStore.close);
    const { db, env, dataDir } = await place();
    const options = { dataDir, env: { ...env, EVENTSTORE_URL: eventStore.url } };
    const first = await workedAndStopped(options, db);
    const { log } = eventStore;
    const sample = log.records.find(({ type }) => type === 'MessageAccepted');
    if (sample === undefined) throw new Error('no message was accepted');
    for (let n = 0; n < EVENTS_OF_DOUBLE; n += 1) {
      const events = [{ ...sample, id: crypto.randomUUID() }];
      log.append({ stream: `message-msg_${n}`, expected: 'no-stream', events });
    }
    const digits = (log.records.at(-1)?.position ?? 0).toString(16).padStart(16, '0');
    await everythingSeen(db, digits + digits); // commit and prepare position
    eventStore.costs.scannedPerSecond = SCANNED_PER_SECOND;
    const before = eventStore.counts();
    expect(await readyAfterMs(options, first.keys.live)).toBeLessThan(readyMsMax(first));
    const { readAll, subscribe } = eventStore.counts();
    const read = readAll.events + subscribe.events - before.readAll.events - before.subscribe.events;
    expect(read).toBeLessThan(EVENTS_READ_MAX);
    expect(eventStore.openReads()).toBeLessThan(3);
  },
  300_000,
);

/** Messages waiting for their first attempt, copied from the sample. */
const WAITING = `
  with numbered as (
    select n, 'msg_' || lpad(n::text, 26, 'w') as message_id from generate_series(1, $1::integer) n
  ), sample as (
    select *, data::json->>'messageId' as message_id from event_log.events where type = 'MessageAccepted' limit 1
  ), accepted as (
    insert into event_log.events (position, stream, revision, id, type, category, data, metadata)
    select h.head + n, 'message-' || m.message_id, 0, gen_random_uuid(), s.type, s.category,
      replace(s.data, s.message_id, m.message_id), s.metadata
    from (select max(position) as head from event_log.events) h, sample s, numbered m
  )
  insert into read_models.deliveries
    (message_id, destination, environment, bulk, due_at, expires_at, recipients)
  select m.message_id, r->>'domain', 'live', false, now(), (s.data::json->>'expiresAt')::timestamptz,
    json_build_array(json_build_object('id', r->>'id', 'dueAt', s.metadata::json->>'occurredAt', 'until', null))
  from sample s, json_array_elements(s.data::json->'recipients') r, numbered m`;

/** Endpoints copied from the sample, each with its own secret. */
const ENDPOINTS = `
  insert into event_log.events (position, stream, revision, id, type, category, data, metadata)
  select h.head + n, 'webhook-whk_' || lpad(n::text, 26, 'w'), 0, gen_random_uuid(), e.type, e.category,
    replace(replace(e.data, e.data::json->>'webhookId', 'whk_' || lpad(n::text, 26, 'w')),
      e.data::json->>'secretId', 'secret ' || n), e.metadata
  from (select max(position) as head from event_log.events) h,
    (select * from event_log.events where type = 'WebhookRegistered' limit 1) e,
    generate_series(1, $1::integer) n`;

const OWED = `
  insert into vault.webhook_deliveries (id, webhook_id, event, due_at, created_at)
  select 'whd_' || e || '_' || n, 'whk_' || lpad(e::text, 26, 'w'), d.event, now(), now()
  from (select event from vault.webhook_deliveries limit 1) d, generate_series(1, $1::integer) e,
    generate_series(1, $2::integer) n`;

test('a start with 200,000 messages and a backlog of webhooks takes less than five seconds', async () => {
  const { db, ...options } = await place();
  const program = await programForTest(options);
  const api = apiClient(program.baseUrl, program.keys.live);
  const receiver = createServer((_, response) => response.writeHead(200).end()).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  onTestFinished(() => void receiver.close());
  const { port } = receiver.address() as AddressInfo;
  const hook = await api.post('/v1/webhooks', { url: `http://127.0.0.1:${port}/`, events: ['message.*'] });
  expect(hook.status).toBe(201);
  const sending = sendMany(api, 1);
  await sending.done;
  await allDelivered(api, sending.accepted, 20_000);
  await eventually(
    () => db.query('select 1 from vault.webhook_deliveries'),
    ({ rows }) => rows.length > 0,
  );
  await program.end('SIGTERM');

  const pool = new Pool({ connectionString: options.env.DATABASE_URL, max: 4 });
  onTestFinished(() => pool.end());
  const secretKeys = { current: options.env.SECRET_KEY, previous: undefined };
  const secrets = createPostgresSecrets({ pool, system: createSystem(), secretKeys });
  await Promise.all(Array.from({ length: 512 }, (_, n) => secrets.put(`secret ${n + 1}`, 'org_a', `whsec_${n}`)));
  await db.query(ENDPOINTS, [512]);
  await db.query(OWED, [512, 100]);
  await db.query(WAITING, [200_000]);
  await db.query(REMAKE_STREAMS);
  const { rows } = await db.query("select lpad(max(position)::text, 16, '0') as head from event_log.events");
  await db.query("update read_models.checkpoints set position = $1 where name <> 'live-views'", [rows[0].head]);
  await db.query('update vault.webhook_recording set position = $1', [rows[0].head]);
  expect(await readyAfterMs(options, program.keys.live)).toBeLessThan(readyMsMax(program));
}, 300_000);
