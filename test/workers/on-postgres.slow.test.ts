import type { Pool } from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { createPostgresQueues } from '../../src/adapters/queue/bullmq-postgres.ts';
import { createPostgresWebhookDeliveries } from '../../src/adapters/webhook-deliveries/postgres.ts';
import { closedAfterTest } from '../support/after-test.ts';
import { openProjectedPostgres } from '../support/projected-postgres.ts';
import { createRecordingLogger } from './recording-logger.ts';
import { openService, type Service } from './service.ts';
import { openSmtpSink, type SmtpSink } from './smtp-sink.ts';
import { openReceiver } from './webhooks/receiver.ts';

const MESSAGES = 300;

interface RealService {
  readonly service: Service;
  readonly sink: SmtpSink;
  readonly pool: Pool;
}

/** The service with its log, vault, queue and read models in PostgreSQL. It sends mail over SMTP. */
const open = async (): Promise<RealService> => {
  const logger = createRecordingLogger();
  const { url, system, store, pool, contents, readModels } = await openProjectedPostgres(logger);
  const queues = await createPostgresQueues(url, { system, logger });
  closedAfterTest(queues);
  const sink = await openSmtpSink();
  closedAfterTest(sink);
  const service = await openService({
    store,
    queues,
    contents,
    smtpUrl: sink.url,
    timetable: readModels.deliveries,
    webhookDeliveries: createPostgresWebhookDeliveries({ pool }),
  });
  closedAfterTest(service);
  return { service, sink, pool };
};

const delivered = async (pool: Pool): Promise<number> => {
  const { rows } = await pool.query<{ count: string }>(
    `select count(*) from event_log.events where type = 'RecipientDelivered'`,
  );
  return Number(rows[0]?.count);
};

const sendMany = (service: Service): Promise<readonly string[]> =>
  Promise.all(Array.from({ length: MESSAGES }, (_, index) => service.send(`u${index}@example.org`)));

describe('with everything in PostgreSQL,', () => {
  test('two processes deliver each message once and post each webhook', async () => {
    const { service, sink, pool } = await open();
    const receiver = await openReceiver();
    closedAfterTest(receiver);
    service.workers().start();
    service.workers().start();
    await service.webhook(receiver.url, ['message.delivered']);
    await sendMany(service);
    await vi.waitFor(async () => expect(await delivered(pool)).toBe(MESSAGES), { timeout: 25_000, interval: 100 });
    await vi.waitFor(() => expect(receiver.posts).toHaveLength(MESSAGES), { timeout: 25_000, interval: 100 });
    expect(new Set(sink.mails.flatMap(({ to }) => to)).size).toBe(MESSAGES);
    expect(sink.mails).toHaveLength(MESSAGES);
    expect(new Set(receiver.posts.map(({ json }) => json.id)).size).toBe(MESSAGES);
  }, 60_000);

  test('a queue that is dropped in the middle loses nothing and duplicates nothing', async () => {
    const { service, sink, pool } = await open();
    service.workers().start();
    const sending = sendMany(service);
    await vi.waitFor(() => expect(sink.mails.length).toBeGreaterThan(0), { timeout: 10_000, interval: 5 });
    await pool.query('drop schema queue cascade');
    await sending;
    await vi.waitFor(async () => expect(await delivered(pool)).toBe(MESSAGES), { timeout: 25_000, interval: 100 });
    expect(sink.mails).toHaveLength(MESSAGES);
  });
});
