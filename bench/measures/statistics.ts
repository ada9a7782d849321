import { Pool } from 'pg';
import { queryStats } from '../../src/projections/stats/queries.ts';
import type { Measure } from '../harness/bench.ts';
import { interleave } from '../harness/interleave.ts';

const MS_MAX = 300;
const ORGANIZATION = 'org_busy';
const YEAR = { from: '2025-01-01T00:00:00.000Z', to: '2026-01-01T00:00:00.000Z' };
/** What one hour counts: 2 domains, 12 recipient domains, 480 recipients in each; 100 million recipients in a year. */
const FILL = `
  insert into read_models.stats_buckets (organization_id, environment, bucket, domain_id, stream, key_id, template_id,
    recipient_domain, accepted, delivered, deferred, bounced, failed, expired, suppressed, complained,
    latency_bins, latency_counts)
  select $1, 'live', hour, 'dom_' || d, 'transactional', 'key_' || d, '', 'r' || r || '.example',
    480, 470, 20, 10, 0, 0, 0, 0, '{36,40,44,48}', '{100,200,150,20}'
  from generate_series($2::timestamptz, $3::timestamptz - interval '1 hour', interval '1 hour') hour,
    generate_series(1, 2) d, generate_series(1, 12) r
  order by 3`;

/** A year of a busy organization by month and by day, as `GET /v1/stats` asks for it. */
export const statistics: Measure = {
  name: 'statistics',
  run: async ({ closers, postgres, rounds }) => {
    const pool = new Pool({ connectionString: await postgres.migratedDatabase(closers), max: 2 });
    closers.add('pool of statistics', () => pool.end());
    await pool.query(FILL, [ORGANIZATION, YEAR.from, YEAR.to]);
    await pool.query('vacuum analyze read_models.stats_buckets');

    const ask = (granularity: 'day' | 'month', groupBy: readonly 'recipient_domain'[]) => async (): Promise<number> => {
      const beganMs = performance.now();
      const { totals } = await queryStats(pool, {
        ...YEAR,
        organizationId: ORGANIZATION,
        environment: 'live',
        granularity,
        timezone: 'Europe/Berlin',
        attribution: 'cohort',
        groupBy,
        comparesPrevious: false,
        where: {},
      });
      if (totals.accepted < 1e8) throw new Error(`counted ${totals.accepted}`);
      return performance.now() - beganMs;
    };
    const found = await interleave(
      { rounds, warmUps: 1 },
      { month: ask('month', []), day: ask('day', []), grouped: ask('month', ['recipient_domain']) },
    );
    const line = (measure: string, figures: readonly number[]) => ({
      measure,
      unit: 'ms' as const,
      rounds: figures,
      floor: { of: 'figure', atMost: MS_MAX } as const,
    });
    return [
      line('statistics of a year of 100 million recipients, by month', found.month),
      line('the same by day', found.day),
      line('the same by month and recipient domain', found.grouped),
    ];
  },
};
