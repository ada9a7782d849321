import { createPostgresEventStore } from '../../src/adapters/event-store/postgres.ts';
import type { Closers } from '../../src/composition/lifecycle.ts';
import { eventCodec } from '../../src/domain/codec.ts';
import type { EventStore } from '../../src/domain/ports/event-store.ts';
import type { Bench } from './bench.ts';

/** The log in a database, as the service opens it. */
export const openStore = async (
  { system, logger }: Pick<Bench, 'system' | 'logger'>,
  closers: Closers,
  url: string,
): Promise<EventStore> => {
  const store = await createPostgresEventStore({ url, codec: eventCodec, system, logger });
  closers.add('event store', store.close);
  return store;
};
