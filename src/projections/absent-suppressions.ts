import {
  categoryOf,
  type EventStore,
  idOf,
  type Position,
  type ReadStreamOptions,
  type StreamName,
} from '../domain/kernel/event-store.ts';
import { suppression } from '../domain/suppression/suppression.ts';
import { type Logger, StoreUnavailable } from '../lib/async/async.ts';
import type { Database } from './database.ts';
import { suppressionsProjection } from './suppressions.ts';

/**
 * Skips reads of empty suppression streams. Before a message leaves, each recipient's stream is read; nearly all are empty,
 * and in EventStoreDB each is a call. A stream is empty if the read model has no row of it and nothing was appended to it
 * since the read model's position. One query and one read of the log's end answer this for all concurrent callers. Other
 * streams are read, and all are if the read model cannot be used.
 */

export interface AbsentStreamsOptions {
  readonly store: EventStore;
  /** Database of the read models. */
  readonly db: Database;
  readonly logger: Logger;
}

/** Events per page of the log's end: more than arrive between two reads. */
const PAGE_EVENTS = 1_000;
/** Streams kept that changed after the read model's position. More means that it is far behind. */
const TOUCHED_MAX = 10_000;

const FILTER = { categories: [suppression.category] };

/** No row if the read model is of another log or version, or has parked events. */
const READ = {
  name: 'read-known-suppressions',
  text: `
    select c.position, array(
      select s.suppression_id from read_models.suppressions s where s.suppression_id = any($4)
    ) as ids
    from read_models.checkpoints c
    where c.name = $1 and c.version = $2 and c.log_id = $3
      and not exists (select from read_models.parked_events p where p.projection = c.name)`,
};

interface Row {
  readonly position: Position;
  readonly ids: readonly string[];
}

/** Streams that changed in (`from`, `to`], with the position of the last event of each. */
interface LogEnd {
  from: Position;
  to: Position;
  readonly touched: Map<StreamName, Position>;
}

interface Look {
  readonly streams: Set<StreamName>;
  /** Streams that may have events; null: unknown. */
  readonly present: Promise<ReadonlySet<StreamName> | null>;
}

export const withAbsentSuppressions = ({ store, db, logger }: AbsentStreamsOptions): EventStore => {
  let end: LogEnd | null = null;
  let running: Promise<unknown> = Promise.resolve();
  let next: Look | null = null;

  const readRow = async (streams: ReadonlySet<StreamName>): Promise<Row | undefined> => {
    const { name, version } = suppressionsProjection;
    const values = [name, version, await store.logId(), [...streams].map(idOf)];
    return (await db.query<Row>({ ...READ, values })).rows[0];
  };

  /** Forgets what the read model has applied. */
  const forgetTo = (known: LogEnd, position: Position): void => {
    if (position > known.to) {
      known.touched.clear();
      known.to = position;
    }
    for (const [stream, last] of known.touched) if (last <= position) known.touched.delete(stream);
    known.from = position;
  };

  /** Reads up to the log's head. */
  const advance = async (known: LogEnd): Promise<void> => {
    const head = await store.head();
    while (known.to < head) {
      const page = await store.readAll({ from: known.to, to: head, filter: FILTER, limit: PAGE_EVENTS });
      for (const { stream, position } of page.events) known.touched.set(stream, position);
      if (page.position === known.to) throw new StoreUnavailable('the log does not answer up to its own head');
      known.to = page.position;
    }
  };

  const begin = async (): Promise<LogEnd> => {
    const head = await store.head();
    return { from: head, to: head, touched: new Map() };
  };

  const presentOf = async (streams: ReadonlySet<StreamName>): Promise<ReadonlySet<StreamName> | null> => {
    end ??= await begin();
    const row = await readRow(streams);
    if (row === undefined || row.position < end.from) return null;
    forgetTo(end, row.position);
    await advance(end);
    const known = new Set(row.ids);
    const present = [...streams].filter((stream) => known.has(idOf(stream)) || end?.touched.has(stream) === true);
    if (end.touched.size > TOUCHED_MAX) end = null;
    return new Set(present);
  };

  const look = async (streams: ReadonlySet<StreamName>): Promise<ReadonlySet<StreamName> | null> => {
    try {
      return await presentOf(streams);
    } catch (err) {
      end = null;
      logger.debug({ err }, 'the read model of suppressions cannot be used; their streams are read');
      return null;
    }
  };

  /** Joins the next read: one in flight may have begun before the append that the caller must see. */
  const ask = (stream: StreamName): Look['present'] => {
    if (next === null) {
      const streams = new Set<StreamName>();
      const present = running.then(() => {
        next = null;
        return look(streams);
      });
      running = present;
      next = { streams, present };
    }
    next.streams.add(stream);
    return next.present;
  };

  return {
    ...store,
    readStream: async (stream: StreamName, options?: ReadStreamOptions) => {
      const present = categoryOf(stream) === suppression.category ? await ask(stream) : null;
      return present === null || present.has(stream) ? store.readStream(stream, options) : [];
    },
  };
};
