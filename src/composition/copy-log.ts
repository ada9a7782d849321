import type { Pool } from 'pg';
import { createPostgresWebhookDeliveries } from '../adapters/webhook-deliveries/postgres.ts';
import {
  type EventStore,
  LOG_START,
  type Position,
  type RecordedEvent,
  WrongExpectedRevision,
} from '../domain/event-store.ts';
import { StartRefused } from '../domain/start-refused.ts';

export interface CopyLog {
  readonly source: EventStore;
  readonly target: EventStore;
  /** Of the database whose checkpoints name the source. */
  readonly pool: Pool;
}

/** One after another keeps the order of the whole log; events of one append stay together in their page. */
const PAGE = 500;

const copyEvent = async (target: EventStore, event: RecordedEvent): Promise<Position> => {
  const { id, stream, revision, metadata } = event;
  const { schemaVersion: _, ...context } = metadata;
  try {
    const expected = revision === 0 ? 'no-stream' : revision - 1;
    const appended = await target.append({ stream, expected, events: [{ ...event, id }], context });
    return appended.position;
  } catch (error) {
    if (!(error instanceof WrongExpectedRevision)) throw error;
    throw new StartRefused(`the log to copy to holds other events already (stream ${stream}): copy to an empty one`);
  }
};

/** A read model of no version is rebuilt at the next start; meanwhile queries see it as it was. */
const MAKE_READ_MODELS_AGAIN = `update read_models.checkpoints set log_id = $1, version = 0, position = ''`;
const GO_ON_RECORDING = 'update vault.webhook_recording set log_id = $1, position = $2';

/** The position in the copy of what was handled up to `position` in the original. */
interface Marker {
  readonly handled: Position;
  copied: Position;
}

const copyAll = async ({ source, target }: CopyLog, marker: Marker): Promise<number> => {
  const head = await source.head();
  let from = LOG_START;
  let events = 0;
  while (from < head) {
    const page = await source.readAll({ from, limit: PAGE });
    for (const event of page.events) {
      const position = await copyEvent(target, event);
      if (event.position <= marker.handled) marker.copied = position;
    }
    events += page.events.length;
    from = page.position;
  }
  return events;
};

/**
 * Copies a log with its event ids, so that a copy that was cut off goes on where it stopped. Then read models are made
 * again from the copy at the next start, and webhooks go on after the last event that was recorded.
 * The caller makes sure that no service runs meanwhile: what it appended after the copy's end would not be in the copy.
 * @throws {StartRefused} the target holds something else.
 */
export const copyLog = async (copy: CopyLog): Promise<{ readonly events: number; readonly logId: string }> => {
  const { target, pool } = copy;
  const checkpoint = await createPostgresWebhookDeliveries({ pool }).checkpoint();
  const marker: Marker = { handled: checkpoint?.position ?? LOG_START, copied: LOG_START };
  const events = await copyAll(copy, marker);
  const logId = await target.logId();
  await pool.query(MAKE_READ_MODELS_AGAIN, [logId]);
  await pool.query(GO_ON_RECORDING, [logId, marker.copied]);
  return { events, logId };
};
