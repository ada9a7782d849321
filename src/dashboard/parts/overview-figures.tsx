import type { ComponentChildren, JSX } from 'preact';
import { useResource } from '../data/queries.ts';
import { count, duration, percent } from '../data/time.ts';
import type { Stats } from './outcome-bars.tsx';
import { Sparkline } from './sparkline.tsx';
import { Fault } from './states.tsx';

type Totals = Stats['totals'];
type Counts = Omit<Totals, 'rates' | 'latency_ms'>;

const EVERY_MS = 10_000;

const waitingOf = (totals: Counts): number => {
  const { accepted = 0, delivered = 0, bounced = 0, failed = 0, expired = 0, suppressed = 0, cancelled = 0 } = totals;
  return Math.max(0, accepted - delivered - bounced - failed - expired - suppressed - cancelled);
};

/** Share of recipients with a known outcome that were delivered. Mail on its way is not counted. */
const deliveredShare = (totals: Counts): number | null => {
  const ended = (totals.accepted ?? 0) - waitingOf(totals);
  return ended === 0 ? null : (totals.delivered ?? 0) / ended;
};

const changeOf = (now: number, before: number): string => {
  if (before === 0) return now === 0 ? 'as before' : 'none before';
  const change = now / before - 1;
  return `${change < 0 ? '−' : '+'}${percent(Math.abs(change))} on the time before`;
};

interface FigureProps {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly note: ComponentChildren;
  readonly children: ComponentChildren;
}

const Figure = ({ name, value, note, children }: FigureProps): JSX.Element => (
  <div class="fig">
    <p class="dt">{name}</p>
    <p class="dd">{value}</p>
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

interface PeriodProps {
  readonly stats: Stats;
  readonly before: Totals | undefined;
}

const Accepted = ({ stats: { totals, data }, before }: PeriodProps): JSX.Element => (
  <Figure
    name="Accepted"
    value={count(totals.accepted ?? 0)}
    note={changeOf(totals.accepted ?? 0, before?.accepted ?? 0)}
  >
    <Sparkline plot={1} values={data.map(({ accepted = 0 }) => accepted)} />
  </Figure>
);

const Delivered = ({ stats: { totals, data }, before }: PeriodProps): JSX.Element => {
  const { delivered = 0 } = totals;
  const share = deliveredShare(totals);
  const shareBefore = before === undefined ? null : deliveredShare(before);
  const note = `${count(delivered)} ${delivered === 1 ? 'recipient' : 'recipients'}`;
  return (
    <Figure
      name="Delivered"
      value={share === null ? '–' : percent(share)}
      note={shareBefore === null ? note : `${note}, before ${percent(shareBefore)}`}
    >
      <Sparkline plot={3} values={data.map(deliveredShare)} to={1} />
    </Figure>
  );
};

const Latency = ({ stats: { totals, data }, before }: PeriodProps): JSX.Element => {
  const took = totals.latency_ms;
  const tookBefore = before?.latency_ms ?? null;
  const note = took === null ? 'nothing was delivered' : `p50 ${duration(took.p50)}, p99 ${duration(took.p99)}`;
  return (
    <Figure
      name="Time to deliver, p90"
      value={took === null ? '–' : duration(took.p90)}
      note={tookBefore === null ? note : `${note}, before ${duration(tookBefore.p90)}`}
    >
      <Sparkline plot={2} values={data.map(({ latency_ms: each }) => each?.p90 ?? null)} />
    </Figure>
  );
};

const Waiting = ({ stats: { totals, data }, before }: PeriodProps): JSX.Element => {
  const waitingBefore = before === undefined ? 0 : waitingOf(before);
  return (
    <Figure
      name="Waiting now"
      value={count(waitingOf(totals) + waitingBefore)}
      note={waitingBefore === 0 ? 'all accepted since then' : `${count(waitingBefore)} accepted before that`}
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
