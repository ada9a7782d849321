import type { JSX } from 'preact';
import { linkTo } from '../data/location.ts';
import { messagesOf, type StatisticsSearch, type Stats } from '../data/statistics.ts';
import { count, type Times, useTimes } from '../data/time.ts';
import { type Bar, BarPlot, LinePlot, PlotCard } from './plots.tsx';
import { timeOrDash } from './statistics-tables.tsx';

type Bucket = Stats['data'][number];

const PARTS = [
  ['delivered', 'plot-delivered'],
  ['waiting', 'plot-deferred'],
  ['other', 'plot-suppressed'],
  ['bounced', 'plot-bounced'],
] as const;

/** Outcomes of recipients, from bottom to top of a bar. Grouped by event time, no recipient is pending. */
const partsOf = (row: Omit<Bucket, 'start'>, isByEvent: boolean): Bar['parts'] => {
  const { accepted = 0, delivered = 0, bounced = 0 } = row;
  const other = (row.failed ?? 0) + (row.expired ?? 0) + (row.suppressed ?? 0) + (row.cancelled ?? 0);
  const waiting = isByEvent ? 0 : Math.max(0, accepted - delivered - bounced - other);
  const values = { delivered, waiting, other, bounced };
  return PARTS.map(([name, plot]) => ({ name, plot, value: values[name] })).filter(
    ({ name }) => !(isByEvent && name === 'waiting'),
  );
};

const labelOf = (times: Times, granularity: string, at: string): string => {
  if (granularity === 'hour') return times.clock(at).slice(0, 5);
  return granularity === 'month' ? times.month(at) : times.date(at);
};

const titleOf = (times: Times, granularity: string, at: string): string => {
  if (granularity === 'hour') return times.short(at);
  if (granularity === 'month') return times.month(at);
  return granularity === 'week' ? `Week of ${times.date(at)}` : times.day(at);
};

interface ShownProps {
  readonly search: StatisticsSearch;
  readonly stats: Stats;
  readonly shown: ReadonlySet<string>;
}

/** Outcomes of recipients over time, compared with the previous period. */
export const Outcomes = ({ search, stats, shown }: ShownProps): JSX.Element => {
  const times = useTimes();
  const { granularity, attribution } = search;
  const isByEvent = attribution === 'event';
  const bars = stats.data.map((row, index): Bar => {
    const until = stats.data[index + 1]?.start ?? stats.to;
    const before = stats.previous?.data[index];
    return {
      key: row.start,
      label: labelOf(times, granularity, row.start),
      title: titleOf(times, granularity, row.start),
      parts: partsOf(row, isByEvent),
      before: before === undefined ? null : partsOf(before, isByEvent).reduce((sum, { value }) => sum + value, 0),
      href: linkTo('/messages', messagesOf(search, row.start, until)),
      linkWord: isByEvent ? 'See the messages accepted then' : 'See these messages',
    };
  });
  const parts = bars[0]?.parts ?? [];
  const table = (
    <table>
      <thead>
        <tr>
          <th>From, {times.zone}</th>
          {parts.map(({ name }) => (
            <th class="r" key={name}>
              {name}
            </th>
          ))}
          <th class="r">period before</th>
        </tr>
      </thead>
      <tbody>
        {bars.map((bar) => (
          <tr key={bar.key}>
            <td>
              <a class="lnk" href={bar.href}>
                {bar.title}
              </a>
            </td>
            {bar.parts.map(({ name, value }) => (
              <td class="r num" key={name}>
                {count(value)}
              </td>
            ))}
            <td class="r num">{bar.before === null ? '–' : count(bar.before)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
  const legend = (
    <>
      {parts.map(({ name, plot }) => (
        <span key={name}>
          <i class={`sw ${plot}`} />
          {name}
        </span>
      ))}
      <span>
        <i class="sw plot-before" />
        period before
      </span>
    </>
  );
  const title = `Outcomes by ${granularity}`;
  const plot = <BarPlot bars={bars} label={title} />;
  return <PlotCard name="outcomes" title={title} shown={shown} legend={legend} plot={plot} table={table} />;
};

const PERCENTILES = [
  ['p99', 'line-4'],
  ['p90', 'line-2'],
  ['p50', 'line-1'],
] as const;

/** Percentiles of the time from acceptance to delivery. */
export const Latency = ({ search, stats, shown }: ShownProps): JSX.Element => {
  const times = useTimes();
  const { granularity } = search;
  const lines = PERCENTILES.map(([name, plot]) => ({
    name,
    plot,
    values: stats.data.map(({ latency_ms }) => latency_ms?.[name] ?? null),
  }));
  const labels = stats.data.map(({ start }) => labelOf(times, granularity, start));
  const table = (
    <table>
      <thead>
        <tr>
          <th>From, {times.zone}</th>
          <th class="r">p50</th>
          <th class="r">p90</th>
          <th class="r">p99</th>
        </tr>
      </thead>
      <tbody>
        {stats.data.map(({ start, latency_ms }) => (
          <tr key={start}>
            <td>{titleOf(times, granularity, start)}</td>
            <td class="r num">{timeOrDash(latency_ms?.p50)}</td>
            <td class="r num">{timeOrDash(latency_ms?.p90)}</td>
            <td class="r num">{timeOrDash(latency_ms?.p99)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
  const legend = (
    <>
      {lines.map(({ name, plot }) => (
        <span key={name}>
          <i class={`sw ${plot}`} />
          {name}
        </span>
      ))}
    </>
  );
  const title = 'Time to deliver';
  const plot = (
    <LinePlot lines={lines} labels={labels} label={`${title}, p50, p90 and p99, by ${granularity}, on a log scale`} />
  );
  return <PlotCard name="latency" title={title} shown={shown} legend={legend} plot={plot} table={table} />;
};
