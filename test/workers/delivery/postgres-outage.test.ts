import { expect, onTestFinished, test } from 'vitest';
import { createPostgresContents } from '../../../src/adapters/contents/postgres.ts';
import { createPostgresEventStore } from '../../../src/adapters/event-store.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import { createPool } from '../../../src/lib/postgres/postgres.ts';
import { REMOTE_ATTEMPT_TIMES } from '../../../src/workers/create-workers.ts';
import { startRelay } from '../../support/eventstoredb-double/relay.ts';
import { silentLogger } from '../../support/logger.ts';
import { migratedDatabase } from '../../support/postgres.ts';
import { openDelivering } from '../delivering.ts';

const MESSAGES = 200;
/** Message at which the log goes away: the mail server has it, and its outcome is not recorded. */
const LAST_BEFORE = 20;
/** Refused appends of outcomes after which the log is back: more than one try of a command. */
const REFUSED = 12;

/** A service whose log is in PostgreSQL, behind a network that goes away. */
const open = async () => {
  const database = await migratedDatabase();
  const url = new URL(database.url);
  const relay = await startRelay(Number(url.port));
  url.hostname = '127.0.0.1';
  url.port = String(relay.port);
  const pool = createPool({ url: database.url, name: 'test', logger: silentLogger, max: 2 });
  const store = await createPostgresEventStore({
    url: url.href,
    codec: eventCodec,
    system: createSystem(),
    logger: silentLogger,
  });
  onTestFinished(async () => {
    await store.close();
    await relay.stop();
    await pool.end();
    await database.drop();
  });
  const refused = { outcomes: 0 };
  const append: EventStore['append'] = async (one) => {
    try {
      return await store.append(one);
    } catch (error) {
      if (one.isUrgent === true) refused.outcomes += 1;
      throw error;
    }
  };
  let mails = 0;
  const service = await openDelivering({
    store: { ...store, append },
    contents: createPostgresContents({ pool }),
    times: REMOTE_ATTEMPT_TIMES,
    onData: async () => {
      mails += 1;
      if (mails === LAST_BEFORE) await relay.stop();
      return null;
    },
  });
  return { service, refused, relay };
};

test('after an outage of the log no message waits for a lease or a retry, and none is sent twice', async () => {
  const { service, refused, relay } = await open();
  const ids = await Promise.all(Array.from({ length: MESSAGES }, (_, index) => service.send(`u${index}@example.org`)));
  service.workers().start();
  await expect.poll(() => refused.outcomes, { timeout: 60_000 }).toBeGreaterThanOrEqual(REFUSED);
  expect(service.sink.mails.length).toBeLessThan(MESSAGES);
  await relay.start();
  // The clock is not moved: a lease of five minutes does not end, and a retry after minutes does not begin.
  const histories = async () => (await Promise.all(ids.map(service.history))).map((types) => types.join());
  const delivered = ['MessageAccepted', 'AttemptStarted', 'RecipientDelivered'].join();
  await expect.poll(histories, { timeout: 60_000, interval: 200 }).toEqual(ids.map(() => delivered));
  expect(service.sink.mails).toHaveLength(MESSAGES);
}, 130_000);
