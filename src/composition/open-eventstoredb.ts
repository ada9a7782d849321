import type { ContentsCodec } from '../adapters/contents/contents-codec.ts';
import type { EventCodec } from '../domain/kernel/codec.ts';
import type { EventStore } from '../domain/kernel/event-store.ts';
import type { Contents } from '../domain/ports/contents.ts';
import type { Logger, System } from '../lib/async/async.ts';
import { checkEventStoreDb, createEventStoreDbEventStore } from '../lib/event-log/eventstoredb.ts';

export interface StoreParts {
  readonly databaseUrl: string;
  readonly codec: EventCodec;
  readonly system: System;
  readonly logger: Logger;
  readonly contents: Contents;
  /** Encodes contents stored beside events in PostgreSQL. Absent: not encrypted. */
  readonly contentsCodec?: ContentsCodec;
}

/** The log in EventStoreDB. @throws {StartRefused} it cannot be used. */
export const openEventStoreDb = async (url: string, parts: StoreParts): Promise<EventStore> => {
  const { codec, system, logger, contents } = parts;
  const place = { connectionString: url, setting: 'EVENTSTORE_URL' };
  const store = createEventStoreDbEventStore({ ...place, codec, contents, system, logger });
  try {
    await checkEventStoreDb({ ...place, store, system, logger });
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
};
