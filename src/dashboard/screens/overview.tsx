import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { List } from '../../http/schemas/envelope.ts';
import { urlOf } from '../data/api.ts';
import { navigate, usePlace, withParameters } from '../data/location.ts';
import { hoursAgo, PERIODS } from '../data/message-search.ts';
import { useResource } from '../data/queries.ts';
import { ApiButton } from '../parts/api-button.tsx';
import { NeedsAttention } from '../parts/attention.tsx';
import { BounceReasons, bouncesQuery } from '../parts/bounce-reasons.tsx';
import { EventFeed } from '../parts/event-feed.tsx';
import { FirstRun } from '../parts/first-run.tsx';
import { Icon } from '../parts/icons.tsx';
import { figuresQuery, OverviewFigures } from '../parts/overview-figures.tsx';
import { Fault, Skeleton } from '../parts/states.tsx';

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
          <p class="sub">{word} compared with the period before</p>
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
  if (sent.data === undefined) return <Skeleton />;
  return isEmpty || began ? <FirstRun onDone={() => begin(false)} hasMail={!isEmpty} /> : <Figures />;
};
