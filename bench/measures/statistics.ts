import { Pool, type PoolClient } from 'pg';
import type { RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import type { System } from '../../src/lib/async/async.ts';
import { inTransaction } from '../../src/lib/projections/projections.ts';
import { statsProjection } from '../../src/projections/stats/projection.ts';
import { type QueryStats, queryStats } from '../../src/projections/stats/queries.ts';
import type { Measure } from '../harness/bench.ts';
import { interleave } from '../harness/interleave.ts';
import { lifeOf } from '../harness/realistic-log.ts';

const MS_MAX = 300;
const ORGANIZATION = 'org_busy';
const YEAR = { from: '2025-01-01T00:00:00.000Z', to: '2026-01-01T00:00:00.000Z' };
/** One hour of counts: 2 domains, 12 recipient domains, 480 recipients in each; 100 million recipients in a year. */
const FILL = `
  insert into read_models.stats_buckets (organization_id, environment, split, bucket, domain_id, stream, key_id,
    template_id, split_value, accepted, delivered, deferred, bounced, latency_bins, latency_counts)
  select $1, 'live', 'recipient_domain', hour, 'dom_' || d, 'transactional', 'key_' || d,
    '', 'r' || r || '.example', 480, 470, 20, 10, '{36,40,44,48}', array[100, 200, 150, 10 + (random() * 10)::integer]
  from generate_series($2::timestamptz, $3::timestamptz - interval '1 hour', interval '1 hour') hour,
    generate_series(1, 2) d, generate_series(1, 12) r
  order by 4`;
/** Sums the rows of another split. */
const SUM = (split: string, bucket: string, value: string): string => `
  insert into read_models.stats_buckets (organization_id, environment, split, bucket, domain_id, stream, key_id,
    template_id, split_value, accepted, delivered, deferred, bounced, latency_bins, latency_counts)
  select organization_id, environment, '${split}', ${bucket}, domain_id, stream, key_id, template_id, ${value},
    sum(accepted), sum(delivered), sum(deferred), sum(bounced), latency_bins,
    array[sum(latency_counts[1]), sum(latency_counts[2]), sum(latency_counts[3]), sum(latency_counts[4])]
  from read_models.stats_buckets where split = 'recipient_domain'
  group by organization_id, environment, 4, domain_id, stream, key_id, template_id, 9, latency_bins`;

type Shape = Pick<QueryStats, 'granularity' | 'groupBy' | 'attribution'>;
const SHAPES = {
  'by month': { granularity: 'month', groupBy: [], attribution: 'cohort' },
  'by day': { granularity: 'day', groupBy: [], attribution: 'cohort' },
  'by day and domain, by the time of events': { granularity: 'day', groupBy: ['domain'], attribution: 'event' },
  'by month and recipient domain': { granularity: 'month', groupBy: ['recipient_domain'], attribution: 'cohort' },
  'by week, recipient domain and domain': {
    granularity: 'week',
    groupBy: ['recipient_domain', 'domain'],
    attribution: 'cohort',
  },
} satisfies Readonly<Record<string, Shape>>;

const BATCH_MESSAGES = 1000;

const walBytes = async (client: PoolClient): Promise<number> => {
  const { rows } = await client.query("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes");
  return Number(rows[0]?.bytes);
};

/** Time to count messages of a busy day, one batch per round. */
const writing = async (client: PoolClient, system: System, rounds: number) => {
  const bytes: number[] = [];
  const micros: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const lives = Array.from({ length: BATCH_MESSAGES }, (_, at) => lifeOf(system, round * BATCH_MESSAGES + at)).flat();
    const events = lives.flatMap(({ stream, events: own, context }) =>
      own.map((event) => ({ ...event, stream, metadata: context }) as unknown as RecordedEvent),
    );
    const before = await walBytes(client);
    const beganMs = performance.now();
    await inTransaction(client, 'read_models', () => statsProjection.apply(client, events));
    micros.push(((performance.now() - beganMs) * 1000) / BATCH_MESSAGES);
    bytes.push(((await walBytes(client)) - before) / BATCH_MESSAGES);
  }
  return [
    { measure: 'counting a message in statistics, in batches of 1,000', unit: 'µs' as const, rounds: micros },
    { measure: 'the same: written to the write-ahead log', unit: 'B/message' as const, rounds: bytes },
  ];
};

/** Queries a year of a busy organization like `GET /v1/stats`. */
export const statistics: Measure = {
  name: 'statistics',
  run: async ({ closers, postgres, rounds, system }) => {
    const pool = new Pool({ connectionString: await postgres.migratedDatabase(closers), max: 2 });
    closers.add('pool of statistics', () => pool.end());
    await pool.query(FILL, [ORGANIZATION, YEAR.from, YEAR.to]);
    await pool.query(SUM('', 'bucket', "''"));
    await pool.query(SUM('recipient_domain_day', "date_bin('1 day', bucket, 'epoch')", 'split_value'));
    await pool.query('vacuum analyze read_models.stats_buckets');

    const ask = (shape: Shape) => async (): Promise<number> => {
      const beganMs = performance.now();
      const { totals } = await queryStats(pool, {
        ...YEAR,
        organizationId: ORGANIZATION,
        environment: 'live',
        ...shape,
        timezone: 'Europe/Berlin',
        comparesPrevious: false,
        where: {},
      });
      if (totals.accepted < 1e8) throw new Error(`counted ${totals.accepted}`);
      return performance.now() - beganMs;
    };
    const contenders = Object.fromEntries(Object.entries(SHAPES).map(([name, shape]) => [name, ask(shape)]));
    const found = await interleave({ rounds, warmUps: 1 }, contenders);
    const client = await pool.connect();
    const written = await writing(client, system, rounds).finally(() => client.release());
    const asked = Object.entries(found).map(([name, figures]) => ({
      measure: `statistics of a year of 100 million recipients, ${name}`,
      unit: 'ms' as const,
      rounds: figures,
      floor: { of: 'figure', atMost: MS_MAX } as const,
    }));
    return [...asked, ...written];
  },
};
