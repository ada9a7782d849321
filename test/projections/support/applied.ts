import type { Pool } from 'pg';
import { createSystem } from '../../../src/adapters/system.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import {
  type EventContext,
  type EventStore,
  LOG_START,
  type RecordedEvent,
  type StreamName,
} from '../../../src/domain/kernel/event-store.ts';
import type { OutboxEvent } from '../../../src/domain/kernel/events.ts';
import { applyBatch, type Batch, readCheckpoint } from '../../../src/lib/projections/projections.ts';
import type { Projection } from '../../../src/projections/projection.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';
import { contextAt, NOW } from '../../support/specification.ts';
import { openPool } from './open.ts';

export interface AppliedEvents {
  readonly pool: Pool;
  readonly store: EventStore;
  /** Appends to a stream, and applies all events since the last call as one batch. @returns the parked events. */
  given(
    stream: StreamName,
    events: readonly OutboxEvent[],
    context?: Partial<EventContext>,
  ): Promise<readonly RecordedEvent[]>;
  /** Applies a batch, which may be repeated. */
  apply(batch: Batch): Promise<readonly RecordedEvent[]>;
  lastBatch(): Batch;
}

/** A projection on an empty database and an empty log, applied batch by batch. */
export const openApplied = async (projection: Projection): Promise<AppliedEvents> => {
  const pool = await openPool();
  const system = createSystem();
  const store = createInMemoryEventStore({ codec: eventCodec, system });
  const logId = await store.logId();
  let batch: Batch = { after: LOG_START, position: LOG_START, events: [] };

  const apply = async (some: Batch): Promise<readonly RecordedEvent[]> => {
    const client = await pool.connect();
    try {
      await client.query('set search_path to read_models');
      await readCheckpoint(client, projection, logId);
      const parked = await applyBatch({ client, projection, schema: 'read_models', logId }, some);
      return parked as readonly RecordedEvent[];
    } finally {
      client.release(true);
    }
  };

  return {
    pool,
    store,
    apply,
    lastBatch: () => batch,
    given: async (stream, events, context = {}) => {
      const last = (await store.readStream(stream)).at(-1);
      await store.append({
        stream,
        expected: last?.revision ?? 'no-stream',
        events: events.map((event) => ({ ...event, id: system.uuid() })),
        context: { ...contextAt(NOW), ...context },
      });
      const page = await store.readAll({ from: batch.position, limit: 1000 });
      batch = { after: batch.position, ...page };
      return apply(batch);
    },
  };
};
