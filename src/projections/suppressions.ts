import type { Environment } from '../domain/kernel/environment.ts';
import {
  categoryOf,
  type EventStore,
  idOf,
  type Position,
  type ReadStreamOptions,
  type StreamName,
} from '../domain/kernel/event-store.ts';
import type { SuppressionReason, SuppressionScope } from '../domain/suppression/events.ts';
import {
  type ExistingSuppression,
  optIns,
  type Resubscription,
  suppression,
} from '../domain/suppression/suppression.ts';
import { type Logger, StoreUnavailable } from '../lib/async/async.ts';
import {
  asRecords,
  type Database,
  type ListCursor,
  type ListPage,
  pageOf,
  rowsToAsk,
} from '../lib/projections/projections.ts';
import { defineStates } from './states.ts';

const DROP_OPT_INS = 'delete from topic_opt_ins where suppression_id = any($1)';

const ADD_OPT_INS = `
  insert into topic_opt_ins (topic_id, environment, suppression_id, opted_in_at)
  select "topicId", environment, "suppressionId", at
  from json_to_recordset($1) as o("topicId" text, environment text, "suppressionId" text, at timestamptz)`;

const writeOptIns = async (db: Database, states: readonly ExistingSuppression[]): Promise<void> => {
  const resubscribed = states.filter(({ resubscriptions }) => resubscriptions.length > 0);
  if (resubscribed.length === 0) return;
  await db.query(DROP_OPT_INS, [resubscribed.map(({ suppressionId }) => suppressionId)]);
  const rows = resubscribed.flatMap((state) => optIns(state).map(({ topicId, at }) => ({ ...state, topicId, at })));
  await db.query(ADD_OPT_INS, asRecords(rows));
};

export const suppressionsProjection = defineStates({
  name: 'suppressions',
  version: 4,
  aggregate: suppression,
  table: 'suppressions',
  columns: {
    suppression_id: 'text',
    organization_id: 'text',
    environment: 'text',
    created_at: 'timestamptz',
    added_at: 'timestamptz',
    reasons: 'text[]',
    scopes: 'text[]',
    expiries: 'timestamptz[]',
  },
  rowOf: (state) => {
    const current = state.entries.filter(({ removedAt }) => removedAt === null);
    return {
      ...state,
      reasons: current.map(({ reason }) => reason),
      scopes: current.map(({ scope }) => scope),
      expiries: current.map(({ expiresAt }) => expiresAt),
    };
  },
  others: { tables: ['topic_opt_ins'], write: writeOptIns },
});

interface ListSuppressions {
  readonly organizationId: string;
  readonly environment: Environment;
  /** ISO 8601: what has expired by then is not listed. */
  readonly now: string;
  /** With an entry in force of this reason and scope; null: any. */
  readonly reason: SuppressionReason | null;
  readonly scope: SuppressionScope | null;
  /** Suppression of one address; null: all. */
  readonly suppressionId: string | null;
  /** Only suppressions caused by messages of this sending domain; null: all. */
  readonly domainId: string | null;
  readonly limit: number;
  readonly after: ListCursor | null;
}

/** An entry in force that a message of a domain has caused. @param domain, now placeholders. */
const causedBy = (domain: string, now: string, more = ''): string => `(${domain}::text is null or exists (
      select from json_array_elements(state->'entries') e
      join read_models.messages m on m.message_id = e->'source'->>'messageId'
      where m.domain_id = ${domain} and e->>'removedAt' is null
        and (e->>'expiresAt' is null or (e->>'expiresAt')::timestamptz > ${now}) ${more}
    ))`;

const LIST = `
  select state from read_models.suppressions
  where organization_id = $1 and environment = $2 and reasons <> '{}'
    and exists (
      select from unnest(reasons, scopes, expiries) as e(reason, scope, expires_at)
      where (e.expires_at is null or e.expires_at > $3)
        and ($4::text is null or e.reason = $4) and ($5::text is null or e.scope = $5)
    )
    and ($6::text is null or suppression_id = $6)
    and ($7::timestamptz is null or (added_at, suppression_id) < ($7, $8::text))
    and ${causedBy('$10', '$3', "and ($4::text is null or e->>'reason' = $4) and ($5::text is null or e->>'scope' = $5)")}
  order by added_at desc, suppression_id desc
  limit $9`;

interface ExportSuppressions {
  readonly organizationId: string;
  readonly environment: Environment;
  /** ISO 8601: what has expired by then is left out. */
  readonly now: string;
  /** Only what messages of this sending domain have caused; null: all. */
  readonly domainId: string | null;
  /** Id of the last one of the page before; null: the first page. */
  readonly after: string | null;
}

/** Larger pages hold more in memory, smaller ones cost round trips. */
const EXPORT_ROWS = 200;

/** Ordered by id, which never changes, so that an entry that changes during the export is not missed. */
const EXPORT = `
  select state from read_models.suppressions
  where organization_id = $1 and environment = $2 and reasons <> '{}'
    and exists (select from unnest(expiries) as e(expires_at) where e.expires_at is null or e.expires_at > $3)
    and ($4::text is null or suppression_id > $4)
    and ${causedBy('$5', '$3')}
  order by suppression_id
  limit ${EXPORT_ROWS}`;

/** A page of all that is in force; `next` is null behind the last. */
export const exportSuppressions = async (
  db: Database,
  { organizationId, environment, now, domainId, after }: ExportSuppressions,
): Promise<{ readonly items: readonly ExistingSuppression[]; readonly next: string | null }> => {
  const values = [organizationId, environment, now, after, domainId];
  const { rows } = await db.query<{ state: ExistingSuppression }>({
    name: 'export-suppressions',
    text: EXPORT,
    values,
  });
  const items = rows.map(({ state }) => state);
  return { items, next: items.length < EXPORT_ROWS ? null : (items.at(-1)?.suppressionId ?? null) };
};

/** Addresses of an organization that are suppressed, latest addition first. */
export const listSuppressions = async (
  db: Database,
  { organizationId, environment, now, reason, scope, suppressionId, domainId, limit, after }: ListSuppressions,
): Promise<ListPage<ExistingSuppression>> => {
  const values = [
    organizationId,
    environment,
    now,
    reason,
    scope,
    suppressionId,
    after?.createdAt ?? null,
    after?.id ?? null,
    rowsToAsk(limit),
    domainId,
  ];
  const { rows } = await db.query<{ state: ExistingSuppression }>({ name: 'list-suppressions', text: LIST, values });
  return pageOf(
    rows.map(({ state }) => state),
    limit,
    (state) => ({ createdAt: state.addedAt, id: state.suppressionId }),
  );
};

const LIST_ALL = `
  select suppression_id as "suppressionId", created_at as "createdAt" from read_models.suppressions
  where organization_id = $1 and environment = $2 and ($3::text is null or suppression_id = $3)
    and (created_at, suppression_id) < ($4::timestamptz, $5::text)
  order by created_at desc, suppression_id desc
  limit $6`;

export interface ListAllSuppressions
  extends Pick<ListSuppressions, 'organizationId' | 'environment' | 'suppressionId' | 'limit'> {
  readonly after: ListCursor;
}

/** Ids of suppressions, including withdrawn and expired ones, newest first. */
export const listAllSuppressions = async (
  db: Database,
  { organizationId, environment, suppressionId, limit, after }: ListAllSuppressions,
): Promise<ListPage<string>> => {
  const values = [organizationId, environment, suppressionId, after.createdAt, after.id, rowsToAsk(limit)];
  const { rows } = await db.query<{ suppressionId: string; createdAt: Date }>({
    name: 'list-all-suppressions',
    text: LIST_ALL,
    values,
  });
  const page = pageOf(rows, limit, (row) => ({ createdAt: row.createdAt.toISOString(), id: row.suppressionId }));
  return { ...page, items: page.items.map((row) => row.suppressionId) };
};

const OF_DOMAIN = {
  name: 'find-messages-of-domain',
  text: 'select message_id as id from read_models.messages where message_id = any($1) and domain_id = $2',
};

export interface AskMessagesOfDomain {
  /** Organization of the domain, whose share of the queries it uses. */
  readonly organizationId: string;
  readonly domainId: string;
  readonly messageIds: readonly string[];
}

/** Ids of those messages that a sending domain sent. */
export const messagesOfDomain = async (
  db: Database,
  { messageIds, domainId }: AskMessagesOfDomain,
): Promise<ReadonlySet<string>> => {
  const { rows } = await db.query<{ id: string }>({ ...OF_DOMAIN, values: [messageIds, domainId] });
  return new Set(rows.map(({ id }) => id));
};

interface ListOptIns
  extends Pick<ListSuppressions, 'organizationId' | 'environment' | 'suppressionId' | 'domainId' | 'limit' | 'after'> {
  readonly topicId: string;
}

const LIST_OPT_INS = `
  select s.state
  from read_models.topic_opt_ins o join read_models.suppressions s using (suppression_id)
  where o.topic_id = $1 and o.environment = $2
    and ($3::text is null or o.suppression_id = $3)
    and ($4::timestamptz is null or (o.opted_in_at, o.suppression_id) < ($4, $5::text))
    and ($7::text is null or exists (
      select from json_array_elements(s.state->'resubscriptions') r
      join read_models.messages m on m.message_id = r->'source'->>'messageId'
      where r->>'topicId' = $1 and m.domain_id = $7
    ))
  order by o.opted_in_at desc, o.suppression_id desc
  limit $6`;

interface ListedOptIn extends Resubscription {
  readonly suppressionId: string;
}

/** Recipients who have opted in to a topic, latest first. */
export const listOptIns = async (
  db: Database,
  { topicId, environment, suppressionId, domainId, limit, after }: ListOptIns,
): Promise<ListPage<ListedOptIn>> => {
  const values = [
    topicId,
    environment,
    suppressionId,
    after?.createdAt ?? null,
    after?.id ?? null,
    rowsToAsk(limit),
    domainId,
  ];
  const { rows } = await db.query<{ state: ExistingSuppression }>({
    name: 'list-opt-ins',
    text: LIST_OPT_INS,
    values,
  });
  const items = rows.flatMap(({ state }) =>
    optIns(state).flatMap((each) =>
      each.topicId === topicId ? [{ ...each, suppressionId: state.suppressionId }] : [],
    ),
  );
  return pageOf(items, limit, ({ at, suppressionId: id }) => ({ createdAt: at, id }));
};

/**
 * Skips reads of empty suppression streams. Before a message leaves, each recipient's stream is read; nearly all are empty,
 * and in EventStoreDB each is a call. A stream is empty if the read model has no row of it and nothing was appended to it
 * since the read model's position. One query and one read of the log's end answer this for all concurrent callers. Other
 * streams are read, and all are if the read model cannot be used.
 */

interface AbsentStreamsOptions {
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
      logger.debug({ err }, 'cannot use the read model of suppressions; reading their streams instead');
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
