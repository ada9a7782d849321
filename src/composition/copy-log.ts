import type { Pool } from 'pg';
import { createPostgresWebhookDeliveries } from '../adapters/webhook-deliveries/postgres.ts';
import {
  type EventStore,
  LOG_START,
  type Position,
  type RecordedEvent,
  WrongExpectedRevision,
} from '../domain/ports/event-store.ts';
import { StartRefused } from '../domain/start-refused.ts';
import { isInLog } from '../projections/checkpoints.ts';

export interface CopyLog {
  readonly source: EventStore;
  readonly target: EventStore;
  /**
   * Appends that are called one after another are taken in that order, also those of one stream, before any is answered:
   * so it is in EventStoreDB. In PostgreSQL it is so of different streams alone: those of one travel one by one.
   */
  readonly targetKeepsOrder: boolean;
  /** Of the database whose checkpoints name the source. */
  readonly pool: Pool;
}

/** Events read at once. Larger costs memory, smaller costs round trips. */
const PAGE_EVENTS = 2_000;
/** Events on their way at once: a server at a distance is not waited for after each. More is memory on either side. */
const UNDER_WAY_MAX = 500;

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

/** Consecutive events that may be under way together. */
const groupsOf = (events: readonly RecordedEvent[], keepsOrder: boolean): readonly (readonly RecordedEvent[])[] => {
  const groups: RecordedEvent[][] = [];
  let streams = new Set<string>();
  for (const event of events) {
    const isApart = !keepsOrder && streams.has(event.stream);
    if (groups.length === 0 || isApart || streams.size >= UNDER_WAY_MAX) {
      groups.push([]);
      streams = new Set();
    }
    groups.at(-1)?.push(event);
    streams.add(keepsOrder ? event.id : event.stream);
  }
  return groups;
};

/** A read model of no version is rebuilt at the next start; meanwhile queries see it as it was. */
const MAKE_READ_MODELS_AGAIN = `update read_models.checkpoints set log_id = $1, version = 0, position = ''`;
const GO_ON_RECORDING = 'update vault.webhook_recording set log_id = $1, position = $2';

/** How far the copy is. */
interface Progress {
  /** Up to there the original was handled. */
  readonly handled: Position;
  /** That position in the copy. */
  marker: Position;
  last: Position;
}

/** @throws the fault of the first event that was not taken: those behind it may have failed because of it. */
const positionsOf = (settled: readonly PromiseSettledResult<Position>[]): readonly Position[] =>
  settled.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });

const copyGroup = async (target: EventStore, group: readonly RecordedEvent[], progress: Progress): Promise<void> => {
  const positions = positionsOf(await Promise.allSettled(group.map((event) => copyEvent(target, event))));
  for (const [index, position] of positions.entries()) {
    if (position <= progress.last) {
      throw new StartRefused(
        'the copy is not in the order of the log, after a fault in the middle: copy to an empty one',
      );
    }
    progress.last = position;
    if ((group[index]?.position ?? '') <= progress.handled) progress.marker = position;
  }
};

const copyAll = async ({ source, target, targetKeepsOrder }: CopyLog, progress: Progress): Promise<number> => {
  const head = await source.head();
  let from = LOG_START;
  let events = 0;
  while (from < head) {
    const page = await source.readAll({ from, limit: PAGE_EVENTS });
    for (const group of groupsOf(page.events, targetKeepsOrder)) await copyGroup(target, group, progress);
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
  const progress: Progress = { handled: checkpoint?.position ?? LOG_START, marker: LOG_START, last: LOG_START };
  const events = await copyAll(copy, progress);
  const logId = await target.logId();
  await pool.query(MAKE_READ_MODELS_AGAIN, [logId]);
  await pool.query(GO_ON_RECORDING, [logId, progress.marker]);
  return { events, logId };
};

export interface ResetRecording {
  readonly pool: Pool;
  readonly log: Pick<EventStore, 'logId' | 'head' | 'readAll'>;
}

const GO_ON_FROM = 'update vault.webhook_recording set log_id = $1, position = $2';

/**
 * Lets webhooks go on at the end of this log where they were recorded from another, or from more than it holds: nothing
 * that is in it is told again, and nothing that is not can be. What is owed already stays owed.
 * @returns what was done; nothing where they can go on from where they are.
 */
export const resetRecording = async ({
  pool,
  log,
}: ResetRecording): Promise<readonly { readonly name: string; readonly position: Position }[]> => {
  const logId = await log.logId();
  const recording = await createPostgresWebhookDeliveries({ pool }).checkpoint();
  if (recording === null) return [];
  if (recording.logId === logId && (await isInLog(log, recording.position))) return [];
  const position = await log.head();
  await pool.query(GO_ON_FROM, [logId, position]);
  return [{ name: 'webhook-recording', position }];
};
