import type { EventContext, EventStore } from '../domain/kernel/event-store.ts';
import type { OutboxEvent } from '../domain/kernel/events.ts';
import type { MessageContents } from '../domain/ports/contents.ts';
import {
  createPostgresEventStore as createPostgresLog,
  type PostgresEventStoreOptions,
} from '../lib/event-log/postgres.ts';
import { type ContentsCodec, PLAIN_CONTENTS } from './contents/contents-codec.ts';

interface PostgresLogOptions
  extends Omit<PostgresEventStoreOptions<OutboxEvent, EventContext, MessageContents>, 'contentsCodec'> {
  readonly contentsCodec?: ContentsCodec | undefined;
}

/** Opens the log in PostgreSQL. Without a codec, contents are not encrypted. @throws {StoreUnavailable} */
export const createPostgresEventStore = (options: PostgresLogOptions): Promise<EventStore> =>
  createPostgresLog({ ...options, contentsCodec: options.contentsCodec ?? PLAIN_CONTENTS });
