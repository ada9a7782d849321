import { createPostgresEventStore } from '../../src/adapters/event-store.ts';
import type { Closers } from '../../src/composition/lifecycle.ts';
import { eventCodec } from '../../src/domain/kernel/codec.ts';
import type { EventStore } from '../../src/domain/kernel/event-store.ts';
import type { Bench } from './bench.ts';

/** Opens the log in a database like the service does. */
export const openStore = async (
  { system, logger }: Pick<Bench, 'system' | 'logger'>,
  closers: Closers,
  url: string,
): Promise<EventStore> => {
  const store = await createPostgresEventStore({ url, codec: eventCodec, system, logger });
  closers.add('event store', store.close);
  return store;
};
