import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { createPostgresEventStore } from '../../../src/adapters/event-store.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { events, first, newStream } from './samples.ts';
import { silentLogger } from './silent-logger.ts';

/** Longer than the test takes. */
const PATIENCE_MS = 120_000;
/** More appends than may wait. */
const GREEDY_APPENDS = 21_000;
/** The lock that every append holds until it commits (`postgres.sql`). */
const LOCK = 'select pg_advisory_xact_lock(7881693, 1)';

test('an organization whose appends exceed the queue is refused, and another waits for one commit', async () => {
  const database = await freshDatabase();
  const sql = new Client({ connectionString: database.url });
  const store = await createPostgresEventStore({
    url: database.url,
    codec: eventCodec,
    system: createSystem(),
    logger: silentLogger,
    patienceMs: PATIENCE_MS,
  });
  onTestFinished(async () => {
    await Promise.all([store.close(), sql.end()]);
    await database.drop();
  });
  await sql.connect();
  await sql.query(`begin; ${LOCK}`);
  const appendOf = (organizationId: string) => {
    const append = first(newStream(), events(1));
    return store.append({ ...append, context: { ...append.context, organizationId } });
  };
  let committed = 0;
  const greedy = Promise.allSettled(
    Array.from({ length: GREEDY_APPENDS }, () =>
      appendOf('org_a').then(() => {
        committed += 1;
      }),
    ),
  );
  const other = appendOf('org_b');
  await sql.query('rollback');
  await other;
  expect(committed).toBeLessThan(GREEDY_APPENDS / 4);
  await store.close();
  const refused = (await greedy).flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  expect(refused.at(-1)).toMatchObject({ name: 'StoreUnavailable', message: 'too many callers wait for the log' });
});
