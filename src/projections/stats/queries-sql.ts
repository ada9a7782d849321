import { STATS_METRICS, type StatsDimension } from './metrics.ts';

const COLUMNS: Readonly<Record<StatsDimension, string>> = {
  domain: 'domain_id',
  stream: 'stream',
  api_key: 'key_id',
  recipient_domain: 'recipient_domain',
  environment: 'environment',
};

const COUNTS = STATS_METRICS;

/**
 * $1 organization, $2 environments, $3 from, $4 to, $5 granularity, $6 time zone, $7 to $10 filters, $11 groups at most.
 * One row for each bucket (and group), and one with neither for the totals. Truncation and steps are made in the asked
 * time zone, so that days around a change of the clocks have 23 or 25 hours.
 */
export const STATS_SQL = (groupBy: StatsDimension | null): string => {
  const group = groupBy === null ? 'null::text' : `b.${COLUMNS[groupBy]}`;
  return `
  with range as (
    select date_bin('15 minutes', $3::timestamptz, 'epoch') as first,
      date_bin('15 minutes', $4::timestamptz + interval '15 minutes' - interval '1 microsecond', 'epoch') as beyond
  ), base as (
    select date_trunc($5, b.bucket, $6) as start, ${group} as grp, ${COUNTS.map((name) => `b.${name}`).join(', ')}, b.latency_bins, b.latency_counts
    from read_models.stats_buckets b, range
    where b.organization_id = $1 and b.environment = any($2::text[])
      and b.bucket >= range.first and b.bucket < range.beyond
      and ($7::text is null or b.domain_id = $7) and ($8::text is null or b.stream = $8)
      and ($9::text is null or b.key_id = $9) and ($10::text is null or b.recipient_domain = $10)
  ), counts as (
    select grouping(start) as total, start, grp, ${COUNTS.map((name) => `sum(${name}) as ${name}`).join(', ')}
    from base group by grouping sets ((start, grp), ())
  ), bins as (
    select start, grp, bin, sum(count) as count
    from base, unnest(latency_bins, latency_counts) as histogram(bin, count)
    group by start, grp, bin
  ), latencies as (
    select grouping(start) as total, start, grp, array_agg(bin order by bin) as bins,
      array_agg(count order by bin) as bin_counts
    from bins group by grouping sets ((start, grp), ())
  ), groups as (
    select grp from base group by grp order by sum(accepted) desc, grp limit $11
  ), frame as (
    select 0 as total, start, grp
    from range, generate_series(date_trunc($5, first, $6), beyond - interval '1 microsecond', ('1 ' || $5)::interval, $6) start,
      ${groupBy === null ? '(select null::text as grp) groups' : 'groups'}
    union all select 1, null, null
  )
  select f.start, f.grp, ${COUNTS.map((name) => `coalesce(c.${name}, 0) as ${name}`).join(', ')}, l.bins, l.bin_counts
  from frame f
  left join counts c on c.total = f.total and c.start is not distinct from f.start and c.grp is not distinct from f.grp
  left join latencies l on l.total = f.total and l.start is not distinct from f.start and l.grp is not distinct from f.grp
  order by f.start, f.grp`;
};
