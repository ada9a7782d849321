import { createSystem } from '../../../src/adapters/system.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import type { Contents } from '../../../src/domain/ports/contents.ts';
import type { Logger } from '../../../src/lib/async/async.ts';
import { createEventStoreDbEventStore } from '../../../src/lib/event-log/eventstoredb.ts';
import { silentLogger } from '../../support/logger.ts';
import { PATIENCE_MS } from './harness.ts';

const noContents: Contents = { put: async () => {}, get: async () => new Map(), heads: async () => new Map() };

/** A store with short time-outs on the server of `connectionString`. */
export const openEventStoreDb = (
  connectionString: string,
  { contents = noContents, logger = silentLogger }: { readonly contents?: Contents; readonly logger?: Logger } = {},
): EventStore =>
  createEventStoreDbEventStore({
    connectionString,
    setting: 'EVENTSTORE_URL',
    codec: eventCodec,
    contents,
    system: createSystem(),
    logger,
    callTimeoutMs: PATIENCE_MS,
  });
