import type { Pool } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createPostgresWebhookDeliveries } from '../../src/adapters/webhook-deliveries/postgres.ts';
import { instanceMark, readWorkerPlace } from '../../src/composition/instances.ts';
import { ADVISORY_LOCKS, type KeptSessionLock, keepSessionLock } from '../../src/lib/postgres/postgres.ts';
import { closedAfterTest } from '../support/after-test.ts';
import { openProjectedPostgres } from '../support/projected-postgres.ts';
import { createRecordingLogger } from './recording-logger.ts';
import { openService } from './service.ts';
import { openSmtpSink } from './smtp-sink.ts';
import { openReceiver } from './webhooks/receiver.ts';

const MESSAGES = 300;

/** The service with its log, vault and read models in PostgreSQL. It sends mail over SMTP. */
const open = async () => {
  const { url, system, store, pool, contents, readModels } = await openProjectedPostgres(createRecordingLogger());
  const sink = await openSmtpSink();
  closedAfterTest(sink);
  const service = await openService({
    store,
    contents,
    smtpUrl: sink.url,
    timetable: readModels.deliveries,
    webhookDeliveries: createPostgresWebhookDeliveries({ pool }),
  });
  closedAfterTest(service);

  /** A session by which workers know each other. */
  const openSession = async (roles: readonly ('api' | 'workers')[] = ['workers']): Promise<KeptSessionLock> => {
    const name = instanceMark({ roles: new Set(roles) }, '1.0.0');
    const session = await keepSessionLock({ url, lock: ADVISORY_LOCKS.log, name, system });
    if (session === null) throw new Error('another session holds the lock');
    onTestFinished(session.release);
    return session;
  };
  /** Starts the workers of a process. */
  const startWorkers = async () => {
    const session = await openSession();
    const workers = service.workers({ workerPlace: () => readWorkerPlace(session) });
    workers.start();
    return { session, workers };
  };
  return { service, sink, pool, openSession, startWorkers };
};

const delivered = async (pool: Pool): Promise<number> => {
  const { rows } = await pool.query<{ count: string }>(
    `select count(*) from event_log.events where type = 'RecipientDelivered'`,
  );
  return Number(rows[0]?.count);
};

test('two processes share the mail of a log in PostgreSQL, and one takes it all when the other has ended', async () => {
  const { service, sink, pool, startWorkers } = await open();
  const receiver = await openReceiver();
  closedAfterTest(receiver);
  await service.webhook(receiver.url, ['message.delivered']);
  const sendMany = () =>
    Promise.all(Array.from({ length: MESSAGES }, (_, index) => service.send(`u${index}@example.org`)));
  const first = await startWorkers();
  await startWorkers();
  await sendMany();
  await vi.waitFor(async () => expect(await delivered(pool)).toBe(MESSAGES), { timeout: 25_000, interval: 100 });
  await vi.waitFor(() => expect(receiver.posts).toHaveLength(MESSAGES), { timeout: 25_000, interval: 100 });
  expect(sink.mails).toHaveLength(MESSAGES);
  expect(new Set(receiver.posts.map(({ json }) => json.id)).size).toBe(MESSAGES);

  await first.workers.stop();
  await first.session.release();
  await sendMany();
  await vi.waitFor(async () => expect(await delivered(pool)).toBe(2 * MESSAGES), { timeout: 25_000, interval: 100 });
  expect(sink.mails).toHaveLength(2 * MESSAGES);
});

test('workers know their places by their sessions, without processes that do not send and sessions that are silent', async () => {
  const { openSession } = await open();
  await openSession(['api']);
  const sessions = [await openSession(), await openSession(['api', 'workers'])] as const;
  const places = await Promise.all(sessions.map((session) => readWorkerPlace(session)));
  expect(places.toSorted((a, b) => a.place - b.place)).toEqual([
    { workers: 2, place: 0 },
    { workers: 2, place: 1 },
  ]);
  const [awake] = sessions;
  await vi.waitFor(async () => expect(await readWorkerPlace(awake, 50)).toEqual({ workers: 1, place: 0 }), {
    timeout: 20_000,
  });
});
