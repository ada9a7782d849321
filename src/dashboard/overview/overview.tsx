import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import { Icon, Mark, STATES } from '../components/icons.tsx';
import type { Stats } from '../components/outcome-bars.tsx';
import { ApiButton, LiveMark } from '../components/screen.tsx';
import { Fault, ScreenSkeleton } from '../components/states.tsx';
import { urlOf } from '../data/api.ts';
import { linkTo, navigate, usePlace, withParameters } from '../data/location.ts';
import { useResource } from '../data/queries.ts';
import { partsOf, shareOf, waitingOf } from '../data/rates.ts';
import { count, duration, percent, useTimes } from '../data/time.ts';
import { describeMessageEvent, messageEventsOf, useTail } from '../events/tail.ts';
import { BOUNCE_REASONS, type Outcome } from '../messages/outcome-words.ts';
import { hoursAgo, PERIODS } from '../messages/selection.ts';
import { NeedsAttention } from './attention.tsx';
import { FirstRun } from './first-run.tsx';

const WIDTH = 300;
const HEIGHT = 44;
/** Margin above the highest value, so that the stroke is not clipped. */
const ROOM = 3;

const place = (value: number): string => value.toFixed(1);

interface SparklineProps {
  /** In chronological order; null: no data. */
  readonly values: readonly (number | null)[];
  /** Number of the plot colour, 1 to 6. */
  readonly plot: number;
  /** Default: 0. */
  readonly from?: number;
  /** Default: the highest value. */
  readonly to?: number;
}

/** A small line chart of a number over time. The text next to it gives the values. */
export const Sparkline = ({ values, plot, from = 0, to }: SparklineProps): JSX.Element => {
  const known = values.map((value, index) => ({ value, index })).filter(({ value }) => value !== null);
  const top = to ?? Math.max(...known.map(({ value }) => value ?? 0), from + Number.EPSILON);
  const across = WIDTH / Math.max(1, values.length - 1);
  const points = known.map(({ value, index }) => {
    const share = ((value ?? 0) - from) / (top - from);
    return `${place(index * across)} ${place(HEIGHT - 1 - Math.max(0, share) * (HEIGHT - 1 - ROOM))}`;
  });
  // A single value is drawn across its interval.
  const line = points.length === 1 ? `M${points[0]}h${-across}` : `M${points.join('L')}`;
  const first = (known[0]?.index ?? 0) * across;
  const last = points.length === 1 ? first - across : (known.at(-1)?.index ?? 0) * across;
  if (points.length === 0) return <span class="spark" />;
  return (
    <svg
      class={`spark plot-line-${plot}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class="area" d={`${line}L${place(last)} ${HEIGHT}L${place(first)} ${HEIGHT}z`} />
      <path class="line" d={line} />
    </svg>
  );
};

type Totals = Stats['totals'];

const EVERY_MS = 10_000;

const changeOf = (now: number, before: number): string => {
  if (before === 0) return now === 0 ? 'unchanged' : 'none before';
  const change = now / before - 1;
  return `${change < 0 ? '−' : '+'}${percent(Math.abs(change))} from the previous period`;
};

interface FigureProps {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly note: ComponentChildren;
  /** Address of the messages that the figure counts. */
  readonly href: string;
  readonly children: ComponentChildren;
}

const Figure = ({ name, value, note, href, children }: FigureProps): JSX.Element => (
  <div class="fig frame">
    <p class="dt">{name}</p>
    <p class="dd">
      <a href={href} title="View these messages">
        {value}
      </a>
    </p>
    <small>{note}</small>
    {children}
  </div>
);

/** Parameters of `GET /v1/stats`. @param days length of the period. */
export const figuresQuery = (since: string, days: number) => ({
  from: since,
  granularity: days > 7 ? 'day' : 'hour',
  metrics: 'accepted,delivered,bounced,failed,expired,suppressed,cancelled',
  compare: 'previous',
});

/** Messages with a recipient that has an outcome, accepted since then. */
const messagesWith = (outcome: Outcome, since: string): string => linkTo('/messages', { outcome, since });

interface PeriodProps {
  readonly stats: Stats;
  readonly before: Totals | undefined;
}

const Accepted = ({ stats: { from, totals, data }, before }: PeriodProps): JSX.Element => (
  <Figure
    name="Accepted"
    href={messagesWith('accepted', from)}
    value={count(totals.accepted ?? 0)}
    note={changeOf(totals.accepted ?? 0, before?.accepted ?? 0)}
  >
    <Sparkline plot={1} values={data.map(({ accepted = 0 }) => accepted)} />
  </Figure>
);

const Delivered = ({ stats: { from, totals, data }, before }: PeriodProps): JSX.Element => {
  const shareBefore = before?.rates.delivered ?? null;
  const note = partsOf(totals, 'delivered');
  return (
    <Figure
      name="Delivered"
      href={messagesWith('delivered', from)}
      value={shareOf(totals.rates.delivered)}
      note={shareBefore === null ? note : `${note}, previously ${percent(shareBefore)}`}
    >
      <Sparkline plot={3} values={data.map(({ rates }) => rates.delivered ?? null)} to={1} />
    </Figure>
  );
};

const Latency = ({ stats: { from, totals, data }, before }: PeriodProps): JSX.Element => {
  const took = totals.latency_ms;
  const tookBefore = before?.latency_ms ?? null;
  const note = took === null ? 'nothing delivered' : `p50 ${duration(took.p50)}, p99 ${duration(took.p99)}`;
  return (
    <Figure
      name="Time to deliver, p90"
      href={messagesWith('delivered', from)}
      value={took === null ? '–' : duration(took.p90)}
      note={tookBefore === null ? note : `${note}, previously ${duration(tookBefore.p90)}`}
    >
      <Sparkline plot={2} values={data.map(({ latency_ms: each }) => each?.p90 ?? null)} />
    </Figure>
  );
};

const Waiting = ({ stats: { from, totals, data, previous }, before }: PeriodProps): JSX.Element => {
  const waitingBefore = before === undefined ? 0 : waitingOf(before);
  return (
    <Figure
      name="Waiting now"
      href={messagesWith('waiting', previous?.from ?? from)}
      value={count(waitingOf(totals) + waitingBefore)}
      note={waitingBefore === 0 ? '' : `${count(waitingBefore)} accepted before this period`}
    >
      <Sparkline plot={5} values={data.map(waitingOf)} />
    </Figure>
  );
};

interface OverviewFiguresProps {
  /** ISO 8601. */
  readonly since: string;
  readonly days: number;
}

/** Four figures, each with a sparkline and its value in the previous period. */
export const OverviewFigures = ({ since, days }: OverviewFiguresProps): JSX.Element => {
  const { data, error, refetch } = useResource<Stats>({
    path: '/v1/stats',
    query: figuresQuery(since, days),
    everyMs: EVERY_MS,
  });
  if (error !== null) return <Fault error={error} retry={() => void refetch()} />;
  if (data === undefined) return <div class="sparks waiting" />;
  const period = { stats: data, before: data.previous?.totals };
  return (
    <div class="sparks">
      <Accepted {...period} />
      <Delivered {...period} />
      <Latency {...period} />
      <Waiting {...period} />
    </div>
  );
};

const REASONS_SHOWN = 5;

/** Bounces per class, summed over all buckets. */
const countsOf = ({ data }: Stats): readonly (readonly [string, number])[] => {
  const counts = new Map<string, number>();
  for (const { group, bounced = 0 } of data) {
    if (typeof group === 'string' && bounced > 0) counts.set(group, (counts.get(group) ?? 0) + bounced);
  }
  return [...counts].sort(([, left], [, right]) => right - left);
};

interface BounceReasonsProps {
  /** ISO 8601. */
  readonly since: string;
  /** Parameters of the message list for the same period. */
  readonly period: string;
}

/** Parameters of `GET /v1/stats`. */
export const bouncesQuery = (since: string) => ({
  from: since,
  granularity: 'day',
  metrics: 'bounced',
  group_by: 'bounce_class',
});

/** Reasons for bounces, most frequent first. */
export const BounceReasons = ({ since, period }: BounceReasonsProps): JSX.Element => {
  const stats = useResource<Stats>({ path: '/v1/stats', query: bouncesQuery(since), everyMs: 30_000 });
  const reasons = stats.data === undefined ? [] : countsOf(stats.data);
  const all = reasons.reduce((sum, [, bounced]) => sum + bounced, 0);
  const most = reasons[0]?.[1] ?? 1;
  return (
    <section class="card" aria-label="Why mail bounced">
      <header>
        <h2>Why mail bounced</h2>
        <span class="sp" />
        {all > 0 && (
          <a class="lnk" href={linkTo('/messages', { outcome: 'bounced', period })}>
            All {count(all)}
          </a>
        )}
      </header>
      {stats.error !== null && <Fault error={stats.error} retry={() => void stats.refetch()} />}
      <div class="pad">
        <ul class="why3">
          {reasons.slice(0, REASONS_SHOWN).map(([reason, bounced]) => (
            <li key={reason}>
              <a class="lnk" href={linkTo('/messages', { outcome: 'bounced', bounce_class: reason, period })}>
                {BOUNCE_REASONS[reason] ?? 'Other reason'}
              </a>
              <span class="num b">{count(bounced)}</span>
              <i class="meter">
                <b style={{ width: `${Math.max(1, (bounced / most) * 100)}%` }} />
              </i>
            </li>
          ))}
        </ul>
        {stats.data !== undefined && stats.error === null && all === 0 && <p class="muted">Nothing bounced.</p>}
        {reasons.length > REASONS_SHOWN && <p class="muted">And {reasons.length - REASONS_SHOWN} more reasons.</p>}
      </div>
    </section>
  );
};

const EVENTS_SHOWN = 9;
/** Outcomes only. Accepted and sending events say little. */
const TYPES = [
  'scheduled',
  'delivered',
  'deferred',
  'bounced',
  'failed',
  'suppressed',
  'cancelled',
  'expired',
  'clicked',
  'complained',
  'unsubscribed',
]
  .map((name) => `message.${name}`)
  .join(',');

/** The latest outcomes of mail. */
export const EventFeed = (): JSX.Element => {
  const times = useTimes();
  const { events, isPending, error } = useTail({ types: TYPES, limit: EVENTS_SHOWN });
  return (
    <section class="card" aria-label="Just now">
      <header>
        <h2>Just now</h2>
        <span class="sp" />
        <LiveMark />
      </header>
      {error !== null && <Fault error={error} />}
      <ul class="feed">
        {messageEventsOf(events).map((event) => {
          const { state, subject, words } = describeMessageEvent(event, times);
          return (
            <li key={event.id}>
              <a class="hoverable" href={linkTo(`/messages/${event.data.message_id}`)}>
                <time class="quiet" dateTime={event.timestamp}>
                  {times.clock(event.timestamp)}
                </time>
                <Mark state={state} />
                <span class="ell">
                  <span class="vh">{STATES[state].word}: </span>
                  <bdi>{subject}</bdi> <bdi class="muted">{words}</bdi>
                </span>
              </a>
            </li>
          );
        })}
      </ul>
      {!isPending && error === null && events.length === 0 && <p class="pad muted">No events yet.</p>}
    </section>
  );
};

const SHOWN_PERIODS = ['24h', '3d', '30d'] as const;
type Period = (typeof SHOWN_PERIODS)[number];

const periodOf = (query: URLSearchParams): Period => SHOWN_PERIODS.find((one) => one === query.get('period')) ?? '24h';

const PeriodChoice = ({ period }: { readonly period: Period }): JSX.Element => (
  <label class="field choice">
    <Icon name="clock" />
    <span class="vh">Time</span>
    <select onChange={({ currentTarget }) => navigate(withParameters({ period: currentTarget.value }))}>
      {SHOWN_PERIODS.map((one) => (
        <option key={one} value={one} selected={one === period}>
          {PERIODS[one].word}
        </option>
      ))}
    </select>
  </label>
);

const Figures = (): JSX.Element => {
  const { query } = usePlace();
  const period = periodOf(query);
  const { hours, word } = PERIODS[period];
  const since = hoursAgo(hours) ?? '';
  const days = hours / 24;
  const requests = [
    urlOf('/v1/stats', figuresQuery(since, days)),
    urlOf('/v1/stats', bouncesQuery(since)),
    '/v1/domains',
    '/v1/webhooks',
    '/v1/api-keys',
    '/v1/destinations',
    '/v1/organization/reputation',
    '/v1/billing',
    '/v1/events?types=message.*',
  ];
  return (
    <>
      <div class="head">
        <div>
          <h1>Overview</h1>
          <p class="sub">{word} compared with the previous period</p>
        </div>
        <div class="acts">
          <ApiButton requests={requests} />
          <PeriodChoice period={period} />
        </div>
      </div>
      <div class="stack">
        <NeedsAttention />
        <OverviewFigures since={since} days={days} />
        <div class="halves">
          <BounceReasons since={since} period={period} />
          <EventFeed />
        </div>
      </div>
    </>
  );
};

/** Problems, key figures and current events. Before the first mail it shows how to send one. */
export const Overview = (): JSX.Element => {
  const sent = useResource<List<unknown>>({ path: '/v1/messages', query: { limit: 1 } });
  // Keeps the first steps on screen after they are completed.
  const [began, begin] = useState(false);
  const isEmpty = sent.data?.data.length === 0;
  if (isEmpty && !began) begin(true);
  if (sent.error !== null && sent.data === undefined) {
    return <Fault error={sent.error} retry={() => void sent.refetch()} />;
  }
  if (sent.data === undefined) return <ScreenSkeleton title="Overview" />;
  return isEmpty || began ? <FirstRun onDone={() => begin(false)} hasMail={!isEmpty} /> : <Figures />;
};
