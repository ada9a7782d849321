import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openOperator } from '../../src/composition/open-operator.ts';
import { readConfig } from '../../src/config.ts';
import { createLagReader } from '../../src/lib/projections/projections.ts';
import { startProgram } from '../../test/support/program.ts';
import type { Bench } from './bench.ts';
import { guard } from './guard.ts';
import { newSecretKey } from './open-api.ts';
import { provision } from './provision.ts';
import type { Recorder } from './recorder.ts';

/** The whole program as a user starts it: embedded PostgreSQL, all roles in one process. */
export interface Service {
  readonly baseUrl: string;
  readonly key: string;
  readonly pid: number;
  /** Process id of its postmaster. */
  postgresPid(): Promise<number>;
  /** Position of the last event. */
  head(): Promise<string>;
  /** Number of recipient outcomes after a position. */
  outcomesAfter(position: string): Promise<number>;
  /** Number of inbound messages in the log. */
  received(): Promise<number>;
  /** Position of the slowest read model. */
  projected(): Promise<string>;
  /** Sizes by table name with schema. */
  tableBytes(): Promise<ReadonlyMap<string, TableBytes>>;
  /** Bytes of write-ahead log since the server started. */
  walBytes(): Promise<number>;
  /** Runs work, and counts what its records in the write-ahead log say. */
  countWrites(work: () => Promise<void>): Promise<Writes>;
  /** Age in seconds of the oldest event that some read model has not processed; 0: all are up to date. */
  lagSeconds(): Promise<number>;
}

const OUTCOMES = `
  select count(*)::int as count from event_log.events
  where position > $1 and type in ('RecipientDelivered', 'RecipientBounced', 'RecipientFailed', 'RecipientExpired')`;
const RECEIVED = "select count(*)::int as count from event_log.events where type = 'InboundReceived'";
/** First line of the server's lock file (PostgreSQL 18, §66.1). */
const POSTMASTER = "select split_part(pg_read_file('postmaster.pid'), e'\\n', 1)::int as pid";
const PROJECTED = 'select min(position) as position from read_models.checkpoints';

/** Sizes of tables with rows per message. Partitions are added to their table. */
const TABLE_BYTES = `
  select coalesce(pg_partition_root(c.oid), c.oid)::regclass::text as table,
    sum(pg_table_size(c.oid))::float8 as rows, sum(pg_indexes_size(c.oid))::float8 as indexes
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and n.nspname !~ '^(pg_|information_schema)'
  group by 1
  order by 1`;

const WAL_BYTES = 'select wal_bytes::float8 as bytes from pg_stat_wal';

/** Bytes on disk. */
export interface TableBytes {
  /** Includes out-of-line storage for long rows. */
  readonly rows: number;
  readonly indexes: number;
}

/** Written between two positions of the write-ahead log, by all sessions. */
interface Writes {
  /** Inserted and updated rows, those of out-of-line storage included. */
  readonly rows: number;
  readonly indexEntries: number;
  /** Bytes without images of full pages, which depend on when the last checkpoint was. */
  readonly walBytes: number;
}

const WAL_POSITION = 'select pg_current_wal_insert_lsn()::text as position';
/** Rows of a COPY share a record per page, which says how many they are (PostgreSQL 18, heapdesc.c). */
const WRITES = `
  select
    sum(case when resource_manager = 'Heap2' then substring(description from 'ntuples: (\\d+)')::int else 1 end)
      filter (where record_type ~ '^(MULTI_)?INSERT|^(HOT_)?UPDATE' and resource_manager like 'Heap%')::float8 as rows,
    count(*) filter (where record_type ~ '^(INSERT|SPLIT)' and resource_manager in ('Btree', 'Gin'))::float8
      as "indexEntries",
    sum(record_length - fpi_length)::float8 as "walBytes"
  from pg_get_wal_records_info($1::pg_lsn, $2::pg_lsn)`;

let opened = 0;

export interface ServiceOptions {
  readonly mailUrl: string;
  /** Default: the queue is in memory. */
  readonly redisUrl?: string;
  /** True if mail is signed with RSA-2048. Default: false. */
  readonly signs?: boolean;
  /** Replaces the log in PostgreSQL. */
  readonly log?: {
    readonly url: string;
    outcomesAfter(position: string): Promise<number>;
  };
  readonly recorder?: Recorder;
  /** Additional environment variables. */
  readonly variables?: Readonly<Record<string, string>>;
}

export const openService = async (
  { closers, folder, postgres, profiling, system }: Bench,
  { mailUrl, redisUrl = '', signs = false, log, recorder, variables = {} }: ServiceOptions,
): Promise<Service> => {
  opened += 1;
  const dataDir = join(folder, `service-${opened}`);
  await mkdir(dataDir, { mode: 0o755 });
  // A profile counts statements, which only the run's own server can do, so the service uses that instead of its
  // embedded one.
  const database =
    profiling.length === 0
      ? {}
      : { DATABASE_URL: await postgres.emptyDatabase(closers), SECRET_KEY: newSecretKey(system) };
  const env = {
    DATA_DIR: dataDir,
    ...database,
    MAIL_URL: mailUrl,
    REDIS_URL: redisUrl,
    LOG_LEVEL: 'error',
    EVENTSTORE_URL: log?.url ?? '',
    ...variables,
  };
  const before = await openOperator(readConfig(env), { mayBeNew: true });
  const key = await provision(before.context, { signs }).finally(before.close);

  const program = await startProgram({
    dataDir,
    env: { ...env, ...recorder?.variables, NODE_OPTIONS: [...(recorder?.nodeOptions ?? []), ...profiling].join(' ') },
  });
  const pid = program.child.pid ?? 0;
  guard(closers, { pid, signal: 'TERM', folders: [dataDir] });
  closers.add('service', async () => {
    await program.end('SIGTERM');
  });
  const { pool, store, close } = await openOperator(readConfig(env));
  closers.add('operator', close);
  const readLag = createLagReader({ pool, store, system });

  return {
    baseUrl: program.baseUrl,
    key,
    pid,
    postgresPid: async () => {
      const { rows } = await pool.query<{ pid: number }>(POSTMASTER);
      return rows[0]?.pid ?? 0;
    },
    head: store.head,
    outcomesAfter: async (position) => {
      if (log !== undefined) return log.outcomesAfter(position);
      const { rows } = await pool.query<{ count: number }>(OUTCOMES, [Number(position)]);
      return rows[0]?.count ?? 0;
    },
    received: async () => (await pool.query<{ count: number }>(RECEIVED)).rows[0]?.count ?? 0,
    lagSeconds: async () => Math.max(0, ...(await readLag()).map(({ seconds }) => seconds)),
    tableBytes: async () => {
      const { rows } = await pool.query<TableBytes & { readonly table: string }>(TABLE_BYTES);
      return new Map(rows.map((row) => [row.table, row]));
    },
    walBytes: async () => (await pool.query<{ bytes: number }>(WAL_BYTES)).rows[0]?.bytes ?? 0,
    countWrites: async (work) => {
      await pool.query('create extension if not exists pg_walinspect');
      const position = async () => (await pool.query<{ position: string }>(WAL_POSITION)).rows[0]?.position;
      const from = await position();
      await work();
      const to = await position();
      const client = await pool.connect();
      try {
        await client.query('set statement_timeout to 0');
        const { rows } = await client.query<Writes>(WRITES, [from, to]);
        return rows[0] ?? { rows: 0, indexEntries: 0, walBytes: 0 };
      } finally {
        client.release(true);
      }
    },
    projected: async () => (await pool.query<{ position: string }>(PROJECTED)).rows[0]?.position ?? '',
  };
};
