import { apiKey } from '../domain/api-key/api-key.ts';
import { auditor } from '../domain/audit/audit.ts';
import { destination } from '../domain/destination/suspension.ts';
import { inboundRoute } from '../domain/inbound/route.ts';
import { eventCodec } from '../domain/kernel/codec.ts';
import {
  categoryOf,
  type EventStore,
  LOG_START,
  type Page,
  type Position,
  type ReadAllOptions,
  type RecordedEvent,
  type StreamName,
} from '../domain/kernel/event-store.ts';
import { members } from '../domain/member/member.ts';
import { session } from '../domain/member/session.ts';
import { organization } from '../domain/organization/organization.ts';
import { reputation } from '../domain/reputation/reputation.ts';
import { domainRecords } from '../domain/sending-domain/domain-records.ts';
import { sendingDomain } from '../domain/sending-domain/sending-domain.ts';
import { warmUp } from '../domain/warm-up/warm-up.ts';
import { webhook } from '../domain/webhook/webhook.ts';
import { type Logger, StoreUnavailable } from '../lib/async/async.ts';
import { asRecords, type Database } from '../lib/projections/projections.ts';
import type { Projection } from './projection.ts';

/**
 * Copies events of the families that live views are folded from: the key cache, sending domains, holds, webhook
 * endpoints, and the lists of operator commands. `withCopyForFolding` reads them instead of the whole log.
 */

/** Families of which every event is needed. */
const KEPT_WHOLE = [
  organization.category,
  sendingDomain.category,
  apiKey.category,
  auditor.category,
  members.category,
  session.category,
  webhook.category,
  warmUp.category,
  inboundRoute.category,
];

/**
 * Families whose state follows from the last event of each type in a stream: a destination suspended every few minutes for
 * a year is two rows. An event that adds to an earlier one of its type moves its family to the list above.
 */
const KEPT_LAST = [destination.category, domainRecords.category, reputation.category];

const isKeptLast: ReadonlySet<string> = new Set(KEPT_LAST);
const copied: ReadonlySet<string> = new Set([...KEPT_WHOLE, ...KEPT_LAST]);

/** Whether all events that a fold of these families needs are copied. */
const areCopied = (categories: readonly string[] | undefined): boolean =>
  categories?.every((category) => copied.has(category)) ?? false;

/** Events are stored as in the log. */
const rowOf = (event: RecordedEvent) => {
  const category = categoryOf(event.stream);
  const { id, type, data, metadata } = event.stored;
  return {
    stream: event.stream,
    slot: isKeptLast.has(category) ? type : String(event.revision),
    position: event.position,
    revision: event.revision,
    id,
    type,
    category,
    data,
    metadata,
  };
};

/** A row that is new has never been locked by an update: its `xmax` is 0. */
const PUT = `
  with put as (
    insert into live_view_events
      (stream, slot, position, revision, id, type, category, data, metadata)
    select stream, slot, position, revision, id, type, category, data, metadata
    from json_to_recordset($1) as e(stream text, slot text, position text, revision integer, id text, type text,
      category text, data text, metadata text)
    on conflict (stream, slot) do update set position = excluded.position, revision = excluded.revision,
      id = excluded.id, data = excluded.data, metadata = excluded.metadata
    returning xmax = 0 as is_new
  )
  insert into live_view_size (events) select count(*) from put where is_new
  on conflict (only_row) do update set events = live_view_size.events + excluded.events`;

export const liveViewsProjection: Projection = {
  name: 'live-views',
  version: 4,
  categories: [...copied],
  tables: ['live_view_events', 'live_view_size'],
  apply: async (db, events) => {
    const rows = events.filter(({ stream }) => copied.has(categoryOf(stream))).map(rowOf);
    if (rows.length === 0) return;
    const bySlot = new Map(rows.map((row) => [`${row.stream} ${row.slot}`, row]));
    await db.query(PUT, asRecords([...bySlot.values()]));
  },
};

export interface ReadCopyOptions {
  readonly store: EventStore;
  /** Database of the read models. */
  readonly db: Database;
  readonly logger: Logger;
}

/** No row if the copy is of another log or version, has parked events, or lost rows. */
const READ = {
  name: 'read-live-view-events',
  text: `
    select c.position as checkpoint, e.*
    from read_models.checkpoints c
    left join lateral (
      select position, stream, revision, id, type, data, metadata
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
  readonly data: string;
  readonly metadata: string;
}

const eventOf = ({ stream, revision, position, id, type, data, metadata }: Row): RecordedEvent => ({
  ...eventCodec.decode({ id, type, data, metadata }),
  stream,
  revision,
  position: position ?? LOG_START,
});

/** The tables are missing or of another version: they are being rebuilt. */
const isOther = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('42');

/**
 * The log, with folds of whole families read from their copy as far as it goes, then from the log. A start costs as much as
 * these families hold, however long the log is. Without the copy the log is read.
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
      logger.debug({ err: error }, 'no stored copy for live views; folding them from the log');
      return [];
    }
  };

  /** null: the copy has nothing after `from`. */
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
