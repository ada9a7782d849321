import { eventCodec } from '../../domain/codec.ts';
import {
  type EventMetadata,
  type EventStore,
  LOG_START,
  type Page,
  type Position,
  type ReadAllOptions,
  type RecordedEvent,
  StoreUnavailable,
  type StreamName,
} from '../../domain/ports/event-store.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { Database } from '../database.ts';
import { areCopied, liveViewsProjection } from './projection.ts';

export interface ReadCopyOptions {
  readonly store: EventStore;
  /** Where the read models are. */
  readonly db: Database;
  readonly logger: Logger;
}

/** Nothing where the copy is of another log or shape, has parked events, or has lost rows. */
const READ = {
  name: 'read-live-view-events',
  text: `
    select c.position as checkpoint, e.*
    from read_models.checkpoints c
    left join lateral (
      select position, stream, revision, id, type, schema_version as "schemaVersion", data, metadata
      from read_models.live_view_events
      where position > $4 and position <= c.position and category = any($5)
      order by position limit $6
    ) e on true
    where c.name = $1 and c.version = $2 and c.log_id = $3
      and not exists (select from read_models.parked_events p where p.projection = c.name)
      and ($4 <> '' or (select count(*) from read_models.live_view_events)
        = coalesce((select s.events from read_models.live_view_size s), 0))
    order by e.position`,
};

interface Row {
  readonly checkpoint: Position;
  /** null: the copy holds no event there, and so are all other columns. */
  readonly position: Position | null;
  readonly stream: StreamName;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly data: string;
  readonly metadata: string;
}

const eventOf = ({ stream, revision, position, id, type, schemaVersion, data, metadata }: Row): RecordedEvent => ({
  ...eventCodec.decode({ type, schemaVersion, data: JSON.parse(data) }),
  id,
  stream,
  revision,
  position: position ?? LOG_START,
  metadata: JSON.parse(metadata) as EventMetadata, // of an event that was read from the log
});

/** The read models are not there, or not those of this version: they are being made anew. */
const isOther = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('42');

/**
 * The log, with reads that only fold whole families answered from their copy as far as that goes, and from the log
 * beyond: a start costs what those families have, however long the log is. The copy may be deleted at any moment; it is
 * then read as before.
 */
export const withCopyForFolding = ({ store, db, logger }: ReadCopyOptions): EventStore => {
  /** How far the copy went when it was last read. */
  let copiedTo: Position | null = null;

  const rowsOf = async ({ from = LOG_START, filter, limit }: ReadAllOptions): Promise<readonly Row[]> => {
    const { name, version } = liveViewsProjection;
    const values = [name, version, await store.logId(), from, filter?.categories, limit];
    try {
      return (await db.query<Row>({ ...READ, values })).rows;
    } catch (error) {
      if (!isOther(error)) throw new StoreUnavailable('the database cannot be read', { cause: error });
      logger.debug({ err: error }, 'there is no copy for live views; they are folded from the log');
      return [];
    }
  };

  /** null: it does not go beyond that. */
  const readCopy = async (options: ReadAllOptions): Promise<Page | null> => {
    const rows = await rowsOf(options);
    copiedTo = rows[0]?.checkpoint ?? null;
    const events = rows.filter(({ position }) => position !== null).map(eventOf);
    const position = (events.length < options.limit ? copiedTo : events.at(-1)?.position) ?? LOG_START;
    return position > (options.from ?? LOG_START) ? { events, position } : null;
  };

  const mayHelp = ({ from = LOG_START, folded = false, direction, filter }: ReadAllOptions): boolean =>
    folded &&
    direction !== 'backwards' &&
    areCopied(filter?.categories) &&
    (from === LOG_START || from < (copiedTo ?? ''));

  return {
    ...store,
    readAll: async (options) => (mayHelp(options) ? await readCopy(options) : null) ?? store.readAll(options),
  };
};
