import type { JSX } from 'preact';
import { type Bar, BarPlot, LinePlot, PlotCard } from '../components/plots.tsx';
import { definitionOf, shareOf, waitingOf } from '../data/rates.ts';
import { count, duration, percent, type Times, useTimes } from '../data/time.ts';
import { boundsOf, messagesBehind, type StatisticsSearch, type Stats, statisticsOf } from './data.ts';

/** Statistics as tables. */

export type Totals = Stats['totals'];

export const timeOrDash = (ms: number | undefined): string => (ms === undefined ? '–' : duration(ms));

interface LinkedProps {
  readonly href: string | null;
  readonly children: string;
  readonly word?: string;
}

/** A number, with a link to the messages that it counts. */
export const Linked = ({ href, children, word = 'View these messages' }: LinkedProps): JSX.Element =>
  href === null ? (
    <span>{children}</span>
  ) : (
    <a class="lnk" href={href} title={word}>
      {children}
    </a>
  );

const METRICS = [
  ['accepted', 'Accepted'],
  ['delivered', 'Delivered'],
  ['deferred', 'Deferred at least once'],
  ['bounced', 'Bounced'],
  ['failed', 'Failed'],
  ['expired', 'Expired'],
  ['suppressed', 'Suppressed'],
  ['cancelled', 'Cancelled'],
  ['opened', 'Opened'],
  ['clicked', 'Clicked'],
  ['complained', 'Complained'],
  ['unsubscribed', 'Unsubscribed'],
] as const;

const rateOf = ({ rates }: Totals, name: string): string => {
  const rate = (rates as Readonly<Record<string, number | null | undefined>>)[name];
  return rate === undefined ? '' : shareOf(rate);
};

const changeOf = (now: number, before: number): string => {
  if (before === 0) return now === 0 ? 'unchanged' : 'new';
  const change = (now - before) / before;
  return change === 0 ? 'unchanged' : `${change > 0 ? '+' : '−'}${percent(Math.abs(change))}`;
};

/** Cells for the previous period. */
const beforeOf = (
  now: Totals,
  before: Totals | undefined,
  name: (typeof METRICS)[number][0],
): readonly [string, string, string] => {
  if (before === undefined) return ['–', '', ''];
  const [is, was] = [now[name] ?? 0, before[name] ?? 0];
  return [count(was), rateOf(before, name), changeOf(is, was)];
};

/** Every outcome and rate, compared with the previous period. */
export const ComparedTable = ({ search, stats }: { readonly search: StatisticsSearch; readonly stats: Stats }) => (
  <table>
    <thead>
      <tr>
        <th>Recipients</th>
        <th class="r">This period</th>
        <th class="r">Share</th>
        <th class="r">Previous period</th>
        <th class="r hide-s">Share</th>
        <th class="r hide-s">Change</th>
      </tr>
    </thead>
    <tbody>
      {METRICS.map(([name, word]) => {
        const { totals: now, from, to, previous } = stats;
        const [was, share, change] = beforeOf(now, previous?.totals, name);
        const behind = (since: string, until: string) => messagesBehind(search, { since, until, outcome: name });
        return (
          <tr key={name}>
            <td class="b">
              {word}
              {definitionOf(name) !== null && <small class="muted"> {definitionOf(name)}</small>}
            </td>
            <td class="r num">
              <Linked href={behind(from, to)}>{count(now[name] ?? 0)}</Linked>
            </td>
            <td class="r num">{rateOf(now, name)}</td>
            <td class="r num">
              <Linked href={previous === undefined ? null : behind(previous.from, previous.to)}>{was}</Linked>
            </td>
            <td class="r num hide-s">{share}</td>
            <td class="r num hide-s">{change}</td>
          </tr>
        );
      })}
    </tbody>
  </table>
);

type Bucket = Stats['data'][number];

const PARTS = [
  ['delivered', 'plot-delivered'],
  ['waiting', 'plot-deferred'],
  ['other', 'plot-suppressed'],
  ['bounced', 'plot-bounced'],
] as const;

/** Columns of the table, which has no sum of other outcomes: each number leads to its messages. */
const TABLE = ['delivered', 'waiting', 'bounced', 'failed', 'expired', 'suppressed', 'cancelled'] as const;

const outcomeIn = (row: Bucket | undefined, name: (typeof TABLE)[number]): number => {
  if (row === undefined) return 0;
  return name === 'waiting' ? waitingOf(row) : (row[name] ?? 0);
};

/** Outcomes of recipients, from bottom to top of a bar. Grouped by event time, no recipient is pending. */
const partsOf = (row: Omit<Bucket, 'start'>, isByEvent: boolean): Bar['parts'] => {
  const { delivered = 0, bounced = 0 } = row;
  const other = (row.failed ?? 0) + (row.expired ?? 0) + (row.suppressed ?? 0) + (row.cancelled ?? 0);
  const waiting = isByEvent ? 0 : waitingOf(row);
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
  /** All outcomes together have no list by their times: their statistics lead to the messages of each. */
  const allOf = (period: Parameters<typeof boundsOf>[0], index: number): string => {
    const bounds = boundsOf(period, index);
    return isByEvent ? statisticsOf(search, bounds) : messagesBehind(search, { ...bounds, outcome: 'accepted' });
  };
  const bars = stats.data.map((row, index): Bar => {
    const before = stats.previous?.data[index];
    return {
      key: row.start,
      label: labelOf(times, granularity, row.start),
      title: titleOf(times, granularity, row.start),
      parts: partsOf(row, isByEvent),
      before: before === undefined ? null : partsOf(before, isByEvent).reduce((sum, { value }) => sum + value, 0),
      href: allOf(stats, index),
      linkWord: isByEvent ? 'View these statistics' : 'View these messages',
    };
  });
  const parts = bars[0]?.parts ?? [];
  const columns = TABLE.filter((name) => !(isByEvent && name === 'waiting'));
  const table = (
    <table>
      <thead>
        <tr>
          <th>From, {times.zone}</th>
          {columns.map((name) => (
            <th class="r" key={name}>
              {name}
            </th>
          ))}
          <th class="r">previous period</th>
        </tr>
      </thead>
      <tbody>
        {bars.map((bar, index) => (
          <tr key={bar.key}>
            <td>
              <a class="lnk" href={bar.href}>
                {bar.title}
              </a>
            </td>
            {columns.map((name) => (
              <td class="r num" key={name}>
                <Linked href={messagesBehind(search, { ...boundsOf(stats, index), outcome: name })}>
                  {count(outcomeIn(stats.data[index], name))}
                </Linked>
              </td>
            ))}
            <td class="r num">
              {bar.before === null || stats.previous === undefined ? (
                '–'
              ) : (
                <Linked href={allOf(stats.previous, index)} word={bar.linkWord}>
                  {count(bar.before)}
                </Linked>
              )}
            </td>
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
        previous period
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

const SHOWN_PERCENTILES = PERCENTILES.map(([name]) => name).toReversed();

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
          {SHOWN_PERCENTILES.map((name) => (
            <th class="r" key={name}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {stats.data.map(({ start, latency_ms }, index) => (
          <tr key={start}>
            <td>{titleOf(times, granularity, start)}</td>
            {SHOWN_PERCENTILES.map((name) => (
              <td class="r num" key={name}>
                <Linked
                  href={
                    latency_ms === null
                      ? null
                      : messagesBehind(search, { ...boundsOf(stats, index), outcome: 'delivered' })
                  }
                >
                  {timeOrDash(latency_ms?.[name])}
                </Linked>
              </td>
            ))}
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
