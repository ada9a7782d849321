import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiClient, eventually } from '../support/api-client.ts';
import { startEventStoreDbDouble } from '../support/eventstoredb-double/start.ts';
import { folderForTest, programForTest, SECRET_KEY } from '../support/place-for-test.ts';
import { freshDatabase, type TestDatabase } from '../support/postgres.ts';
import { newDataDir, type Program, runToEnd, startProgram } from '../support/program.ts';

/** One sentence for the operator without a stack trace, neither on separate lines nor escaped within one. */
const SENTENCE = /^(?!.*(?:\n|\\n)\s+at )/s;

describe('a service that cannot start says why in one sentence', () => {
  let database: TestDatabase;
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let env: Record<string, string>;

  beforeAll(async () => {
    database = await freshDatabase();
    data = await newDataDir();
    env = { DATABASE_URL: database.url, SECRET_KEY };
    const program = await startProgram({ dataDir: data.path, env });
    await program.end('SIGTERM');
  });
  afterAll(async () => {
    await database.drop();
    await data.remove();
  });

  const refused = async (more: Record<string, string>, sentence: RegExp): Promise<void> => {
    const { code, output } = await runToEnd({ dataDir: data.path, env: { ...env, ...more } });
    expect(code).toBe(1);
    expect(output).toMatch(sentence);
    expect(output).toMatch(SENTENCE);
  };

  test('when its configuration is wrong, with all problems at once', async () => {
    await refused({ PORT: 'http', ROLES: 'cook', MAIL_URL: 'direct' }, /MAIL_URL: .*\nROLES: .*\nPORT: /);
  });

  test('when its fault injection point does not exist', async () => {
    await refused({ OUTBOX_FAIL_POINT: 'nowhere' }, /OUTBOX_FAIL_POINT: .*"nowhere".*before-append-accepted/);
  });

  test('when its port is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    try {
      await refused({ PORT: String(port) }, /port \d+ on 127\.0\.0\.1 is in use: /);
    } finally {
      other.close();
    }
  });

  test('when the database is missing', async () => {
    await refused(
      { DATABASE_URL: 'postgres://nobody:x@127.0.0.1:1/none' },
      /PostgreSQL at 127\.0\.0\.1:1 .*DATABASE_URL/,
    );
  });

  test('when EVENTSTORE_URL cannot be reached', async () => {
    const cluster = 'kurrentdb://127.0.0.1:1,127.0.0.1:2?tls=false';
    await refused({ EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false' }, /127\.0\.0\.1:1.*EVENTSTORE_URL/);
    await refused({ EVENTSTORE_URL: cluster }, /127\.0\.0\.1:1,127\.0\.0\.1:2: .*EVENTSTORE_URL/);
  });

  test('when EVENTSTORE_URL has an unknown option', async () => {
    await refused({ EVENTSTORE_URL: 'esdb://127.0.0.1:1?colour=red' }, /EVENTSTORE_URL has the option "colour"/);
  });

  test('when Redis is missing', async () => {
    await refused({ REDIS_URL: 'redis://127.0.0.1:1' }, /Redis at 127\.0\.0\.1:1 .*REDIS_URL/);
  });

  test('when the secrets were stored under another key', async () => {
    await refused({ SECRET_KEY: 'another secret key that is long enough' }, /SECRET_KEY/);
  });

  test('when the read models were built from another log', async () => {
    const other = await startEventStoreDbDouble();
    try {
      await refused({ EVENTSTORE_URL: other.url }, /made from log .*, and this is log/);
    } finally {
      await other.close();
    }
  });
});

describe('a service on its built-in database', () => {
  test('refuses to share its data with a second one', async () => {
    const dataDir = await folderForTest();
    const first = await programForTest({ dataDir });
    const { code, output } = await runToEnd({ dataDir });
    expect(code).toBe(1);
    expect(output).toMatch(/another Outbox service .*is already running on this data/);
    expect((await fetch(`${first.baseUrl}/readyz`)).status).toBe(200);
  });

  test('refuses a data directory that it cannot create', async () => {
    const file = join(await folderForTest(), 'file');
    await writeFile(file, '');
    const { code, output } = await runToEnd({ dataDir: join(file, 'data') });
    expect(code).toBe(1);
    expect(output).toMatch(/data directory/);
    expect(output).toMatch(SENTENCE);
    expect((await runToEnd({ dataDir: '/proc/outbox/data' })).output).toMatch(
      /the data directory \/proc\/outbox\/data cannot/,
    );
  });
});

describe('a service that loses PostgreSQL', () => {
  let database: TestDatabase;
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;
  let admin: pg.Client;

  beforeAll(async () => {
    database = await freshDatabase();
    data = await newDataDir();
    program = await startProgram({ dataDir: data.path, env: { DATABASE_URL: database.url, SECRET_KEY } });
    admin = new pg.Client({ connectionString: Object.assign(new URL(database.url), { pathname: 'postgres' }).href });
    await admin.connect();
  });
  afterAll(async () => {
    await program.end('SIGTERM');
    await admin.end();
    await database.drop();
    await data.remove();
  });

  const name = (): string => new URL(database.url).pathname.slice(1);
  const away = async (): Promise<void> => {
    await admin.query(`alter database ${name()} allow_connections false`);
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name()]);
  };
  const back = (): Promise<unknown> => admin.query(`alter database ${name()} allow_connections true`);

  test('answers 503 with Retry-After, and recovers automatically when PostgreSQL is back', async () => {
    const api = apiClient(program.baseUrl, program.keys.live);
    const message = { from: 'a@example.test', to: 'b@example.net', subject: 'Hello', text: 'Hello' };
    const before = await api.post('/v1/messages/send', message);
    expect(before.status).toBe(202);
    await away();
    for (const ask of [() => api.post('/v1/messages/send', message), () => api.get('/v1/messages')]) {
      const answer = await ask();
      expect(answer.status).toBe(503);
      expect(answer.body.error.code).toBe('unavailable');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect((await fetch(`${program.baseUrl}/readyz`)).status).toBe(503);
    expect((await fetch(`${program.baseUrl}/livez`)).status).toBe(200);
    await back();
    const after = await eventually(
      () => api.post('/v1/messages/send', message),
      ({ status }) => status === 202,
      20_000,
    );
    await eventually(
      () => api.get(`/v1/messages/${after.body.id}`),
      ({ body }) => body.status === 'delivered',
      20_000,
    );
  });
});

describe('a service older than its log', () => {
  test('stops with a reason, and changes nothing', async () => {
    const database = await freshDatabase();
    const data = await newDataDir();
    const client = new pg.Client({ connectionString: database.url });
    const options = { dataDir: data.path, env: { DATABASE_URL: database.url, SECRET_KEY } };
    try {
      await (await startProgram(options)).end('SIGTERM');
      await client.connect();
      await client.query(`
        insert into event_log.events
        select position + 1, 'webhook-newer', 0, gen_random_uuid(), 'FromTheFuture', 'webhook', '{}', metadata
        from event_log.events order by position desc limit 1`);
      // The process may detect it before it is ready, or just after.
      const { code, output } = await startProgram(options).then(
        async (program) => ({ code: await program.ended(), output: program.output() }),
        ({ message }: Error) => ({ code: Number(/^ended with (\d+)/.exec(message)?.[1]), output: message }),
      );
      expect(code).toBe(1);
      expect(output).toMatch(/this process is older than the log: it does not know event FromTheFuture/);
    } finally {
      await client.end();
      await database.drop();
      await data.remove();
    }
  });
});
