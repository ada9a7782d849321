import type { Pool } from 'pg';
import { createPostgresWebhookDeliveries } from '../adapters/webhook-deliveries/postgres.ts';
import {
  type EventStore,
  LOG_START,
  type Position,
  type RecordedEvent,
  readPages,
  WrongExpectedRevision,
} from '../domain/kernel/event-store.ts';
import { StartRefused } from '../lib/async/async.ts';
import { isInLog } from '../lib/projections/projections.ts';

export interface CopyLog {
  readonly source: EventStore;
  readonly target: EventStore;
  /**
   * Appends to one stream may be in flight together and keep their order: true in EventStoreDB. In PostgreSQL only
   * appends to different streams may; those of one stream go one by one.
   */
  readonly targetKeepsOrder: boolean;
  /** The database whose checkpoints refer to the source. */
  readonly pool: Pool;
}

/** Events read at once. Larger costs memory, smaller costs round trips. */
const PAGE_EVENTS = 2_000;
/** Events in flight. Larger costs memory on both sides, smaller waits for a distant server more often. */
const IN_FLIGHT_MAX = 500;

/** An event with its place in the source. */
type SourceEvent = Pick<RecordedEvent, 'stream' | 'revision' | 'position' | 'stored'>;

const copyEvent = async (target: EventStore, event: SourceEvent): Promise<Position> => {
  const { stream, revision, stored } = event;
  try {
    const expected = revision === 0 ? 'no-stream' : revision - 1;
    return (await target.appendStored({ stream, expected, events: [stored] })).position;
  } catch (error) {
    if (!(error instanceof WrongExpectedRevision)) throw error;
    throw new StartRefused(`the target log already holds other events (stream ${stream}): copy to an empty log`);
  }
};

/** Groups consecutive events that may be in flight together. */
const groupsOf = (events: readonly SourceEvent[], keepsOrder: boolean): readonly (readonly SourceEvent[])[] => {
  const groups: SourceEvent[][] = [];
  let streams = new Set<string>();
  for (const event of events) {
    const isApart = !keepsOrder && streams.has(event.stream);
    if (groups.length === 0 || isApart || streams.size >= IN_FLIGHT_MAX) {
      groups.push([]);
      streams = new Set();
    }
    groups.at(-1)?.push(event);
    streams.add(keepsOrder ? event.stored.id : event.stream);
  }
  return groups;
};

/** A read model of version 0 is rebuilt at the next start; until then queries see it as it was. */
const RESET_READ_MODELS = `update read_models.checkpoints set log_id = $1, version = 0, position = ''`;
const RESUME_RECORDING = 'update vault.webhook_recording set log_id = $1, position = $2';

/** Progress of the copy. */
interface Progress {
  /** Last position of the source that was recorded for webhooks. */
  readonly handled: Position;
  /** The same position in the copy. */
  marker: Position;
  last: Position;
}

/** @throws the fault of the first rejected event: later ones may have failed because of it. */
const positionsOf = (settled: readonly PromiseSettledResult<Position>[]): readonly Position[] =>
  settled.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });

const copyGroup = async (target: EventStore, group: readonly SourceEvent[], progress: Progress): Promise<void> => {
  const positions = positionsOf(await Promise.allSettled(group.map((event) => copyEvent(target, event))));
  for (const [index, position] of positions.entries()) {
    if (position <= progress.last) {
      throw new StartRefused('the copy is out of order after an earlier fault: copy to an empty log');
    }
    progress.last = position;
    if ((group[index]?.position ?? '') <= progress.handled) progress.marker = position;
  }
};

const copyAll = async ({ source, target, targetKeepsOrder }: CopyLog, progress: Progress): Promise<number> => {
  let copied = 0;
  for await (const { events } of readPages(source, { to: await source.head(), limit: PAGE_EVENTS })) {
    for (const group of groupsOf(events, targetKeepsOrder)) await copyGroup(target, group, progress);
    copied += events.length;
  }
  return copied;
};

/**
 * Copies a log with its event ids, so that an interrupted copy can resume. Afterwards read models are rebuilt from the
 * copy at the next start, and webhooks continue after the last recorded event. The caller makes sure that no service
 * runs: events that it appends late would be missing.
 * @throws {StartRefused} the target holds other events.
 */
export const copyLog = async (copy: CopyLog): Promise<{ readonly events: number; readonly logId: string }> => {
  const { target, pool } = copy;
  const checkpoint = await createPostgresWebhookDeliveries({ pool }).checkpoint();
  const progress: Progress = { handled: checkpoint?.position ?? LOG_START, marker: LOG_START, last: LOG_START };
  const events = await copyAll(copy, progress);
  const logId = await target.logId();
  await pool.query(RESET_READ_MODELS, [logId]);
  await pool.query(RESUME_RECORDING, [logId, progress.marker]);
  return { events, logId };
};

export interface RestoreLog {
  readonly target: EventStore;
  /** Events of a backup in the order of its log. */
  readonly pages: AsyncIterable<readonly SourceEvent[]>;
  /** Position in the backup up to which events were recorded for webhooks. Absent: none. */
  readonly recorded: Position | undefined;
}

/**
 * Appends the events of a backup to an empty log of an engine that keeps the order of appends in flight. It can be repeated
 * after an interruption.
 * @returns the position up to which events are recorded for webhooks, in the target.
 * @throws {StartRefused} the target holds other events.
 */
export const restoreLog = async ({ target, pages, recorded }: RestoreLog): Promise<Position> => {
  const progress: Progress = { handled: recorded ?? LOG_START, marker: LOG_START, last: LOG_START };
  let isFirst = true;
  for await (const events of pages) {
    if (isFirst) await requireEmptyOrSame(target, events[0]);
    isFirst = false;
    for (const group of groupsOf(events, true)) await copyGroup(target, group, progress);
  }
  return progress.marker;
};

/** The first event of an interrupted restore is that of the backup. */
const requireEmptyOrSame = async (target: EventStore, first: SourceEvent | undefined): Promise<void> => {
  const [found] = (await target.readAll({ limit: 1 })).events;
  if (found === undefined || found.id === first?.stored.id) return;
  throw new StartRefused('the target log already holds other events: restore into an empty log');
};

/** Continues the recording for webhooks at a position of a restored log. */
export const resumeRecording = async (
  pool: Pool,
  { logId, position }: { readonly logId: string; readonly position: Position },
): Promise<void> => {
  await pool.query(RESUME_RECORDING, [logId, position]);
};

export interface ResetRecording {
  readonly pool: Pool;
  readonly log: Pick<EventStore, 'logId' | 'head' | 'readAll'>;
}

/**
 * Moves the webhook recording to the end of this log if it refers to another log or to a position beyond its end. Events
 * of this log are not posted again; pending deliveries stay.
 * @returns what was reset; nothing if the recording can continue.
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
  await pool.query(RESUME_RECORDING, [logId, position]);
  return [{ name: 'webhook-recording', position }];
};
