import { Client } from 'pg';
import { createPostgresEventStore } from '../../../src/adapters/event-store.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import { REMAKE_STREAMS } from '../../support/log-rows.ts';
import { migratedDatabase } from '../../support/postgres.ts';
import { PATIENCE_MS } from './harness.ts';
import { replacedLogContract } from './replaced-log.contract.ts';
import { silentLogger } from './silent-logger.ts';

const END_CONNECTIONS = `
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and application_name = 'outbox event log'`;

replacedLogContract('in PostgreSQL', async () => {
  const database = await migratedDatabase();
  const sql = new Client({ connectionString: database.url });
  await sql.connect();
  const store = await createPostgresEventStore({
    url: database.url,
    codec: eventCodec,
    system: createSystem(),
    logger: silentLogger,
    patienceMs: PATIENCE_MS,
  });
  const comesBackAfter = async (statement: string): Promise<void> => {
    await sql.query(`${statement}; ${END_CONNECTIONS}`);
  };
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await store.close();
    await sql.end();
    await database.drop();
  };
  return {
    store,
    comesBackShorterBy: (events) =>
      comesBackAfter(`delete from event_log.events
        where position > (select max(position) - ${events} from event_log.events); ${REMAKE_STREAMS}`),
    comesBackEmpty: () => comesBackAfter('drop schema event_log cascade'),
    comesBackAsAnother: () =>
      comesBackAfter(`update event_log.log set id = gen_random_uuid();
        insert into event_log.events
        select max(position) over () + row_number() over (), 'apiKey-other' || position, 0, gen_random_uuid(), type,
          category, data, metadata from event_log.events; ${REMAKE_STREAMS}`),
    close: () => {
      closed ??= close();
      return closed;
    },
  };
});
