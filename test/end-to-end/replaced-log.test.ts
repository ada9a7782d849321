import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { apiClient, eventually } from '../support/api-client.ts';
import { startEventStoreDbDouble } from '../support/eventstoredb-double/start.ts';
import { REMAKE_STREAMS } from '../support/log-rows.ts';
import { operator } from '../support/operator.ts';
import { placeForTest, programForTest } from '../support/place-for-test.ts';
import { type Program, runToEnd } from '../support/program.ts';

interface Place {
  readonly options: Parameters<typeof programForTest>[0];
  /** Restores the log to its state before the last events, and restarts its server. */
  putBack(): Promise<void>;
}

/** Position before the first event of the message, so that none of its events is kept. */
const KEPT = 'select position - 1 as last from event_log.events where category = $1 order by position limit 1';

const PLACES: Readonly<Record<string, () => Promise<Place>>> = {
  PostgreSQL: async () => {
    const options = await placeForTest();
    return {
      options,
      putBack: async () => {
        const sql = new Client({ connectionString: options.env.DATABASE_URL });
        await sql.connect();
        const { rows } = await sql.query(KEPT, ['message']);
        // Holds the lock for appends. A waiting append ends with its connection.
        await sql.query(`select pg_advisory_xact_lock(7881693, 1); delete from event_log.events where position > ${rows[0].last};
          ${REMAKE_STREAMS};
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`);
        await sql.end();
      },
    };
  },
  EventStoreDB: async () => {
    const { env, dataDir } = await placeForTest();
    const eventStore = await startEventStoreDbDouble();
    onTestFinished(eventStore.close);
    const { log } = eventStore;
    return {
      options: { dataDir, env: { ...env, EVENTSTORE_URL: eventStore.url } },
      putBack: async () => {
        await eventStore.stop();
        log.restoreTo(log.records.findIndex(({ stream }) => stream.startsWith('message-')));
        await eventStore.start();
      },
    };
  },
};

const send = async ({ baseUrl }: Program, key: string): Promise<number> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ from: 'shop@example.test', to: 'c@example.net', subject: 'Hello', text: 'Hello' });
  return (await fetch(`${baseUrl}/v1/messages/send`, { method: 'POST', headers, body })).status;
};

/** Marks webhooks as recorded up to the position of the read models. */
const RECORDED = `
  insert into vault.webhook_recording (log_id, position)
  select log_id, max(position) from read_models.checkpoints group by log_id
  on conflict (only_row) do update set position = excluded.position`;

const recorded = async (url: string): Promise<void> => {
  const sql = new Client({ connectionString: url });
  await sql.connect();
  await sql.query(RECORDED);
  await sql.end();
};

const readiness = async ({ baseUrl }: Program): Promise<string> => (await fetch(`${baseUrl}/readyz`)).text();

describe.each(Object.entries(PLACES))('a log in %s that is rolled back under a running service', (_name, open) => {
  test('accepts nothing more, is reported, and works again once the read models are rebuilt from it', async () => {
    const { options, putBack } = await open();
    const program = await programForTest(options);
    const key = program.keys.live;
    for (let n = 0; n < 5; n += 1) expect(await send(program, key)).toBe(202);
    // From here on the position of the read models is behind the first event of a message.
    await eventually(
      () => apiClient(program.baseUrl, key).get('/v1/messages'),
      ({ body }) => body.data.length === 5,
    );
    await recorded(options.env?.DATABASE_URL ?? '');
    await putBack();
    const answers = new Set<number>();
    await eventually(
      async () => {
        answers.add(await send(program, key));
        return readiness(program);
      },
      (answer) => answer.includes('it was replaced'),
    );
    expect([...answers]).toEqual([503]);
    expect(program.output().match(/"msg":"[^"]*the service accepts no more requests/g)).toHaveLength(1);
    await program.end('SIGTERM');

    expect((await runToEnd(options)).output).toMatch(/older copy.*projections rebuild all/);
    const rebuilt = await operator(options, 'projections', 'rebuild', 'all');
    expect(rebuilt.map(({ name }: { name: string }) => name)).toContain('webhook-recording');
    const again = await programForTest(options);
    await eventually(
      () => send(again, key),
      (status) => status === 202,
    );
  });
});

test('a process ends with code 1 once its own log is back, and works again when it is started', async () => {
  const options = await placeForTest();
  const program = await programForTest(options);
  const sql = new Client({ connectionString: options.env.DATABASE_URL });
  await sql.connect();
  onTestFinished(() => sql.end());
  const { rows } = await sql.query('select id from event_log.log');
  await sql.query('update event_log.log set id = gen_random_uuid()');
  await eventually(
    () => readiness(program),
    (answer) => answer.includes('not ready: log: it was replaced by another or by an older copy"'),
  );
  expect(program.child.exitCode).toBeNull();
  await sql.query('update event_log.log set id = $1', [rows[0].id]);
  expect(await program.ended()).toBe(1);
  expect(program.output()).toContain('the log of this service is connected again');
  const again = await programForTest(options);
  expect(await send(again, program.keys.live)).toBe(202);
});
