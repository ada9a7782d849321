import {
  categoryOf,
  type EventStore,
  idOf,
  type Position,
  type ReadStreamOptions,
  StoreUnavailable,
  type StreamName,
} from '../domain/ports/event-store.ts';
import type { Logger } from '../domain/ports/logger.ts';
import { suppression } from '../domain/suppression/suppression.ts';
import type { Database } from './database.ts';
import { suppressionsProjection } from './suppressions.ts';

/**
 * Before a message leaves, the log is asked whether each of its recipients is suppressed. Nearly none is, and in a log
 * where every stream is a call of its own that would be most of its calls. A stream that the read model has no row of,
 * and that nothing was appended to since the read model's position, is empty: a query and a look at the log's end tell
 * that of all who ask at the same moment. Any other stream is read, and so are all where the read model cannot be used.
 */

export interface AbsentStreamsOptions {
  readonly store: EventStore;
  /** Where the read models are. */
  readonly db: Database;
  readonly logger: Logger;
}

/** Events of the log's end in one page: more than come between two looks. */
const PAGE_EVENTS = 1_000;
/** Streams kept that were appended to beyond the read model's position: more than that, and it is far behind. */
const TOUCHED_MAX = 10_000;

const FILTER = { categories: [suppression.category] };

/** Nothing where the read model is of another log or shape, or has parked events. */
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

/** Streams that were appended to beyond `from`, up to `to`, with the position of the last event of each. */
interface LogEnd {
  from: Position;
  to: Position;
  readonly touched: Map<StreamName, Position>;
}

interface Look {
  readonly streams: Set<StreamName>;
  /** Those that may have events; null: it is not known of any. */
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

  /** Forgets what the read model has taken in. */
  const forgetTo = (known: LogEnd, position: Position): void => {
    if (position > known.to) {
      known.touched.clear();
      known.to = position;
    }
    for (const [stream, last] of known.touched) if (last <= position) known.touched.delete(stream);
    known.from = position;
  };

  /** Takes in what was appended up to now. */
  const goOn = async (known: LogEnd): Promise<void> => {
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
    await goOn(end);
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

  /** Joins the look that begins next: one under way may have begun before what the caller must see was appended. */
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
