import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createPostgresQueues } from '../../../src/adapters/queue/bullmq-postgres.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { expectRefusedSoon, isFulfilled, openWorking, testBullmq } from './bullmq.contract.ts';
import { describeQueue } from './contract.ts';
import { LOCK_MS } from './engine.ts';
import { createRecordingLogger, until, untilHandled } from './recorder.ts';
import { startBusyWorker } from './start-busy-worker.ts';

const system = createSystem();

const openDatabase = async () => {
  const database = await freshDatabase();
  const client = new pg.Client(database.url);
  await client.connect();
  return {
    url: database.url,
    query: (sql: string) => client.query(sql),
    close: async () => {
      await client.end();
      await database.drop();
    },
  };
};

/** Queues on a new database. */
const openQueues = async () => {
  const database = await openDatabase();
  const logger = createRecordingLogger();
  const queues = await createPostgresQueues(database.url, { system, logger, lockMs: LOCK_MS });
  onTestFinished(async () => {
    await queues.close();
    await database.close();
  });
  return {
    database,
    url: database.url,
    queues,
    kept: async () => {
      const { rows } = await database.query(
        'select (select count(*) from queue.job)::int as jobs, (select count(*) from queue.event)::int as events',
      );
      return rows[0];
    },
  };
};

describeQueue('BullMQ and PostgreSQL', async () => {
  const database = await openDatabase();
  return {
    connect: ({ closeLimitMs }) =>
      createPostgresQueues(database.url, { system, logger: createRecordingLogger(), lockMs: LOCK_MS, closeLimitMs }),
    wipe: async () => {
      await database.query('truncate queue.job, queue.meta, queue.event cascade');
    },
    stop: database.close,
  };
});

describe('a queue on BullMQ and PostgreSQL', () => {
  testBullmq('postgres', openQueues);

  test('leaves no connection behind when closed while its worker connects', async () => {
    const database = await openDatabase();
    const options = { system, logger: createRecordingLogger(), lockMs: LOCK_MS };
    for (let waitMs = 0; waitMs < 40; waitMs += 2) {
      const queues = await createPostgresQueues(database.url, options);
      queues.open('closing').work(async () => undefined, { concurrency: 1 });
      await system.sleep(waitMs);
      await queues.close();
    }
    const others = 'select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
    await until(async () => (await database.query(others)).rowCount === 0);
    await database.close();
  });

  test('lets its process exit', async () => {
    const { database, queues } = await openQueues();
    const busy = await startBusyWorker('postgres', database.url, 'ending');
    await queues.open<string[]>('ending').add([{ data: ['held'] }]);
    await busy.untilBusy();
    expect(await busy.terminate()).toBe(0);
  });

  test('recreates its schema when it was dropped under a running worker', async () => {
    const { database, queues } = await openQueues();
    const { queue, handled } = await openWorking(queues, 'dropped');
    // The worker uses the tables all the time. In a deadlock with it, one of the two is cancelled.
    await until(() => isFulfilled(database.query('drop schema queue cascade')));
    await queue.add([{ data: ['after'] }]);
    await untilHandled(handled, ['after']);
  });

  test('resumes after the server closed every connection, and refuses jobs while the server accepts none', async () => {
    const { database, queues } = await openQueues();
    const { queue, handled } = await openWorking(queues, 'away', 2);
    const { rows } = await database.query('select current_database() as name');
    const admin = new pg.Client(new URL('/postgres', database.url).href);
    await admin.connect();
    onTestFinished(() => admin.end());
    const cutOff = `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'outbox-queue' or application_name = 'away'`;
    await admin.query(`alter database "${rows[0].name}" allow_connections false`);
    await admin.query(cutOff);
    await expectRefusedSoon(queue);
    await admin.query(`alter database "${rows[0].name}" allow_connections true`);
    await until(() => isFulfilled(queue.add([{ data: ['after'] }])));
    await untilHandled(handled, ['after']);
  });
});
