import { createPostgresEventStore } from '../../../src/adapters/event-store.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { eventStoreContract } from './event-store.contract.ts';
import { type OpenLog, PATIENCE_MS } from './harness.ts';
import { openPostgresWire } from './postgres-wire.ts';
import { silentLogger } from './silent-logger.ts';

const openStore = (url: string): Promise<EventStore> =>
  createPostgresEventStore({
    url,
    codec: eventCodec,
    system: createSystem(),
    logger: silentLogger,
    patienceMs: PATIENCE_MS,
  });

const open = async (): Promise<OpenLog> => {
  const database = await freshDatabase();
  const wire = await openPostgresWire(database.url);
  const stores = [await openStore(wire.url)];
  return {
    store: stores[0] as EventStore,
    server: wire,
    loseNextAnswer: () => wire.loseNextAnswerTo('event-log-append'),
    openAnother: async () => {
      const another = await openStore(database.url);
      stores.push(another);
      return another;
    },
    receivedBytes: wire.sentBytes,
    close: async () => {
      wire.thaw();
      await Promise.all(stores.map((store) => store.close()));
      await wire.close();
      await database.drop();
    },
  };
};

eventStoreContract({
  name: 'PostgreSQL',
  supports: ['outage', 'freeze', 'lost-answer', 'other-process', 'metered'],
  open,
});
