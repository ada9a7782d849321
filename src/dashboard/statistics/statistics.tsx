import type { JSX } from 'preact';
import { CopyAddress, Figure, Figures } from '../components/facts.tsx';
import { SavedViews } from '../components/saved-views.tsx';
import { ApiButton, Download } from '../components/screen.tsx';
import { Empty, Fault, Skeleton } from '../components/states.tsx';
import { urlOf } from '../data/api.ts';
import { usePlace, withParameters } from '../data/location.ts';
import { shortId, useDomainNames, useKeyNames } from '../data/names.ts';
import { useResource } from '../data/queries.ts';
import { partsOf, shareOf } from '../data/rates.ts';
import { count, percent } from '../data/time.ts';
import type { Outcome } from '../messages/outcome-words.ts';
import { StatisticsBar } from './bar.tsx';
import {
  type Dimension,
  messagesBehind,
  NO_TEMPLATE,
  type StatisticsSearch,
  type Stats,
  searchOf,
  statsQuery,
} from './data.ts';
import { Groups, type GroupsProps } from './groups.tsx';
import { ComparedTable, Latency, Outcomes, type Totals, timeOrDash } from './plots.tsx';

interface DeltaProps {
  readonly change: number | null;
  /** True if a higher value is worse. */
  readonly isBad?: boolean;
  readonly text: (size: number) => string;
}

const Delta = ({ change, isBad = false, text }: DeltaProps): JSX.Element | null =>
  change === null || change === 0 ? null : (
    <>
      <span class={change > 0 === isBad ? 'down' : 'up'}>
        {change > 0 ? '+' : '−'}
        {text(Math.abs(change))}
      </span>{' '}
    </>
  );

type Rate = 'delivered' | 'bounced' | 'complained';
const points = (now: Totals, before: Totals | undefined, rate: Rate): number | null => {
  const [one, other] = [now.rates[rate], before?.rates[rate]];
  return typeof one === 'number' && typeof other === 'number' ? one - other : null;
};
const inPoints = (size: number): string => (size * 100).toFixed(2);

const Key = ({ search, stats }: { readonly search: StatisticsSearch; readonly stats: Stats }): JSX.Element => {
  const { totals: now, from: since, to: until } = stats;
  const before = stats.previous?.totals;
  const behind = (outcome: Outcome) => messagesBehind(search, { since, until, outcome });
  const { accepted = 0, latency_ms: latency } = now;
  const was = before?.accepted ?? 0;
  return (
    <Figures>
      <Figure name="Accepted" value={count(accepted)} href={behind('accepted')}>
        <Delta change={was === 0 ? null : (accepted - was) / was} text={percent} />
        {was === 0 ? 'none in the previous period' : 'from the previous period'}
      </Figure>
      <Figure name="Delivered" plot="plot-delivered" value={shareOf(now.rates.delivered)} href={behind('delivered')}>
        <Delta change={points(now, before, 'delivered')} text={inPoints} />
        {partsOf(now, 'delivered')}
      </Figure>
      <Figure name="Bounced" plot="plot-bounced" value={shareOf(now.rates.bounced)} href={behind('bounced')}>
        <Delta change={points(now, before, 'bounced')} text={inPoints} isBad />
        {partsOf(now, 'bounced')}
      </Figure>
      <Figure name="Time to deliver, p90" value={timeOrDash(latency?.p90)} href={behind('delivered')}>
        {latency && `p50 ${timeOrDash(latency.p50)}, p99 ${timeOrDash(latency.p99)}`}
      </Figure>
      <Figure name="Complained" value={shareOf(now.rates.complained)} href={behind('complained')}>
        <Delta change={points(now, before, 'complained')} text={inPoints} isBad />
        {partsOf(now, 'complained')}
      </Figure>
    </Figures>
  );
};

const ID = /^(?:key|dom|tpl)_[a-z2-7]{26}$/;

/** Display names of ids. */
const useNames = (): GroupsProps['nameOf'] => {
  const keys = useKeyNames();
  const domains = useDomainNames();
  const names: Readonly<Partial<Record<Dimension, ReadonlyMap<string, string>>>> = { api_key: keys, domain: domains };
  return (dimension, value) => {
    if (value === '' || value === NO_TEMPLATE) return 'none';
    const name = names[dimension]?.get(value);
    return name ?? (ID.test(value) ? shortId(value) : value);
  };
};

const Nothing = ({ search }: { readonly search: StatisticsSearch }): JSX.Element => (
  <Empty
    icon="bars"
    title="No mail in this period"
    actions={
      <>
        <a class="btn" href={withParameters({ period: '12m', from: null, to: null, granularity: null })}>
          Last 12 months
        </a>
        {Object.keys(search.filters).length > 0 && (
          <a
            class="btn"
            href={withParameters(Object.fromEntries(Object.keys(search.filters).map((name) => [name, null])))}
          >
            Clear filters
          </a>
        )}
      </>
    }
  >
    Every recipient is counted here within a second of being accepted.
  </Empty>
);

const isEmpty = ({ totals, previous }: Stats): boolean =>
  [totals, previous?.totals].every((counts) =>
    Object.values(counts ?? {}).every((value) => value === 0 || typeof value !== 'number'),
  );

/** Outcomes of mail over time, in total and by group, compared with the previous period. */
export const Statistics = (): JSX.Element => {
  const { query } = usePlace();
  const search = searchOf(query);
  const shown = new Set((query.get('tables') ?? '').split(',').filter((name) => name !== ''));
  const asked = { ...statsQuery(search), compare: 'previous' };
  const grouped = { ...statsQuery(search), group_by: search.groupBy.join(',') };
  const { data: stats, error, refetch, isPlaceholderData } = useResource<Stats>({ path: '/v1/stats', query: asked });
  const nameOf = useNames();
  return (
    <>
      <div class="head">
        <div>
          <h1>Statistics</h1>
        </div>
        <div class="acts">
          <SavedViews />
          <CopyAddress />
          <Download word="CSV" path="/v1/stats" query={grouped} accept="text/csv" name="statistics.csv" />
          <ApiButton requests={[urlOf('/v1/stats', asked), urlOf('/v1/stats', grouped)]} />
        </div>
      </div>
      <StatisticsBar search={search} nameOf={nameOf} />
      {error !== null && <Fault error={error} retry={() => void refetch()} />}
      {stats === undefined && error === null && <Skeleton />}
      {stats !== undefined && error === null && isEmpty(stats) && <Nothing search={search} />}
      {stats !== undefined && !isEmpty(stats) && (
        <div class={isPlaceholderData ? 'dimmed' : ''}>
          <Key search={search} stats={stats} />
          <Outcomes search={search} stats={stats} shown={shown} />
          <div class="two2">
            <Latency search={search} stats={stats} shown={shown} />
            <section class="card" aria-label="Compared with the previous period">
              <header>
                <h2>Compared with the previous period</h2>
              </header>
              <div class="scroll">
                <ComparedTable search={search} stats={stats} />
              </div>
            </section>
          </div>
          <Groups search={search} nameOf={nameOf} />
        </div>
      )}
    </>
  );
};
