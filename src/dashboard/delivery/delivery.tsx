import type { JSX } from 'preact';
import type { List } from '../../http/fields.ts';
import type { SerializedBacklog, SerializedSuspension } from '../../http/resources/destinations.ts';
import type { SerializedOrganizationReputation, SerializedWarmUp } from '../../http/resources/domains/reputation.ts';
import { Figure, Figures } from '../components/facts.tsx';
import { Status } from '../components/icons.tsx';
import { ApiButton } from '../components/screen.tsx';
import { Empty, Fault, Skeleton } from '../components/states.tsx';
import { request, urlOf } from '../data/api.ts';
import { session } from '../data/credentials.ts';
import { currentEnvironment, linkTo, usePlace, withParameters } from '../data/location.ts';
import { type NamedResource, useDomains } from '../data/names.ts';
import { useRead, useResource } from '../data/queries.ts';
import { useStore } from '../data/store.ts';
import { ago, count, dueAt, duration, sofar, useTimes } from '../data/time.ts';
import { ReputationGauge } from '../domains/standing.tsx';
import type { Stats } from '../statistics/data.ts';
import { BulkMailPaused, PauseBulkMail, ReleaseDestination } from './actions.tsx';
import { ServiceHealth } from './service-health.tsx';

/** Limits how many domains have their warm-up read: each takes one request. */
const WARM_UPS_MAX = 20;

/** Domains in warm-up, with the volume each provider received today. */
export const WarmUps = ({ domains }: { readonly domains: readonly NamedResource[] }): JSX.Element | null => {
  const read = domains.slice(0, WARM_UPS_MAX);
  const { data = [] } = useRead(['warm-ups', read.map(({ id }) => id)], (signal) =>
    Promise.all(read.map(({ id }) => request<SerializedWarmUp>(`/v1/domains/${id}/warm-up`, { signal }))),
  );
  const running = data.filter(({ status }) => status === 'running');
  if (running.length === 0) return null;
  const names = new Map(domains.map(({ id, name }) => [id, name]));
  return (
    <section class="card" aria-label="Warm-up">
      <header>
        <h2>Warm-up</h2>
        <span class="muted">New domains that send a little more each day</span>
      </header>
      <ul>
        {running.map(({ domain_id: id, day, plan, recipients_max: most, today }) => (
          <li class="susp cells line" key={id}>
            <Status state="scheduled" word={`Day ${day} of ${plan.length}`} />
            <span>
              <a class="lnk" href={linkTo(`/domains/${id}`)}>
                <bdi>{names.get(id) ?? id}</bdi>
              </a>
              <small class="muted">
                {today.length === 0
                  ? 'nothing sent today'
                  : today.map(({ destination, recipients }) => `${destination} ${count(recipients)}`).join(', ')}
              </small>
            </span>
            <span class="num">{count(most ?? 0)} a day per provider</span>
          </li>
        ))}
      </ul>
    </section>
  );
};

/** Places where mail waits: domains that asked for a pause, and suspended mailbox providers. */

type Waiting = SerializedBacklog['data'][number];

interface Row {
  readonly domain: string;
  readonly waiting: Waiting | null;
  /** Recipients delivered to in the last hour. */
  readonly delivered: number;
}

export const rowsOf = (backlog: SerializedBacklog | undefined, stats: Stats | undefined): readonly Row[] => {
  const waiting = new Map((backlog?.data ?? []).map((one) => [one.recipient_domain, one]));
  const delivered = new Map<string, number>();
  for (const { group, delivered: many = 0 } of stats?.groups ?? []) {
    if (typeof group === 'string' && group !== '(other)') delivered.set(group, many);
  }
  return [...new Set([...waiting.keys(), ...delivered.keys()])].map((domain) => ({
    domain,
    waiting: waiting.get(domain) ?? null,
    delivered: delivered.get(domain) ?? 0,
  }));
};

const LastReply = ({ reply }: { readonly reply: Waiting['last_reply'] }): JSX.Element => (
  <a class="lnk" href={linkTo(`/messages/${reply.message_id}`)}>
    <code>{reply.code === 0 ? 'no answer' : [reply.code, reply.enhanced].filter(Boolean).join(' ')}</code>{' '}
    <bdi class="muted">{reply.mx ?? ''}</bdi> <span class="muted">{ago(reply.at)}</span>
  </a>
);

const DomainRow = ({ row: { domain, waiting, delivered } }: { readonly row: Row }): JSX.Element => {
  const times = useTimes();
  return (
    <tr>
      <td class="b">
        <bdi>{domain}</bdi>
      </td>
      <td>
        {waiting === null ? (
          <Status state="delivered" word="Accepting" />
        ) : (
          <Status state="deferred" word="Deferring" />
        )}
      </td>
      <td class="r num">
        {count(waiting?.recipients ?? 0)} <span class="only-s">waiting, </span>
        <small class="muted">{delivered === 0 ? 'none delivered' : `${count(delivered)} delivered`}</small>
      </td>
      <td class="r num hide-s">{waiting === null ? 'none' : sofar(waiting.since)}</td>
      <td class="hide-s">{waiting === null ? '' : dueAt(waiting.next_attempt_at, times.clock)}</td>
      <td>
        {waiting === null ? <span class="muted">nothing unusual</span> : <LastReply reply={waiting.last_reply} />}
      </td>
    </tr>
  );
};

const SuspendedRow = ({ suspension }: { readonly suspension: SerializedSuspension }): JSX.Element => {
  const times = useTimes();
  const { destination, message, since, until, smtp } = suspension;
  return (
    <li class="susp cells line">
      <Status state="fault" word="Suspended" />
      <span>
        <bdi class="b">{destination}</bdi>
        <small class="muted">
          {message} {smtp.code > 0 && <code>{[smtp.code, smtp.enhanced].filter(Boolean).join(' ')}</code>} Suspended{' '}
          {ago(since)}, next attempt at {times.clock(until)}.
        </small>
      </span>
      <ReleaseDestination destination={destination} until={until} />
    </li>
  );
};

export const Suspended = ({
  suspended,
}: {
  readonly suspended: readonly SerializedSuspension[];
}): JSX.Element | null =>
  suspended.length === 0 ? null : (
    <section class="card" aria-label="Suspended">
      <header>
        <h2>Suspended</h2>
        <span class="muted">Mailbox providers suspended for all senders of this service</span>
      </header>
      <ul>
        {suspended.map((one) => (
          <SuspendedRow key={one.destination} suspension={one} />
        ))}
      </ul>
    </section>
  );

interface DestinationsProps {
  readonly rows: readonly Row[];
  readonly backlog: SerializedBacklog;
}

export const Destinations = ({ rows, backlog }: DestinationsProps): JSX.Element => {
  const isAll = usePlace().query.get('show') === 'all';
  const shown = isAll ? rows : rows.filter(({ waiting }) => waiting !== null);
  return (
    <section class="card" aria-label="Destinations">
      <header>
        <h2>Destinations</h2>
        {!backlog.complete && <span class="muted">newest 2,000 deferrals only: more may be waiting</span>}
        <span class="sp" />
        <nav class="seg" aria-label="Which destinations">
          <a href={withParameters({ show: null })} {...(!isAll && { 'aria-current': 'true' })}>
            With a backlog
          </a>
          <a href={withParameters({ show: 'all' })} {...(isAll && { 'aria-current': 'true' })}>
            All {count(rows.length)}
          </a>
        </nav>
      </header>
      {shown.length === 0 ? (
        <Empty icon="check" title="No deferred mail">
          Destinations that defer mail appear here, with their last reply and the next attempt.
        </Empty>
      ) : (
        <table class="dests">
          <thead>
            <tr>
              <th>Destination</th>
              <th>State</th>
              <th class="r">Waiting, last hour</th>
              <th class="r hide-s">Longest</th>
              <th class="hide-s">Next attempt</th>
              <th class="hide-s">Last reply</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <DomainRow key={row.domain} row={row} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
};

const EVERY_MS = 10_000;
const HOUR_MS = 3_600_000;

/** The hour before the current quarter of an hour, plus that quarter: statistics are bucketed by quarters. */
const lastHour = () => {
  const to = Math.floor(Date.now() / (HOUR_MS / 4)) * (HOUR_MS / 4);
  return {
    from: new Date(to - HOUR_MS).toISOString(),
    to: new Date(to + HOUR_MS / 4).toISOString(),
    granularity: 'hour',
    timezone: 'UTC',
    attribution: 'event',
    group_by: 'recipient_domain',
    metrics: 'accepted,delivered,deferred,bounced',
  };
};

interface PipelineProps {
  readonly stats: Stats | undefined;
  readonly backlog: SerializedBacklog;
  readonly suspended: number;
}

const Pipeline = ({ stats, backlog, suspended }: PipelineProps): JSX.Element => {
  const times = useTimes();
  const { accepted = 0, delivered = 0, bounced = 0, latency_ms: latency = null } = stats?.totals ?? {};
  const waiting = backlog.data.reduce((sum, { recipients }) => sum + recipients, 0);
  const longest = backlog.data.map(({ since }) => since).sort()[0];
  const next = backlog.data.map(({ next_attempt_at: at }) => at).sort()[0];
  // Counts, not rates: the service may not have run for the whole hour.
  const period = stats === undefined ? '' : `since ${times.short(stats.from)}`;
  return (
    <Figures>
      <Figure name="Accepted" value={count(accepted)}>
        {period}
      </Figure>
      <Figure name="Deferred" value={`${count(waiting)}${backlog.complete ? '' : ' or more'}`}>
        {longest === undefined ? 'nothing is waiting' : `longest ${sofar(longest)}`}
      </Figure>
      <Figure name="Next attempt" value={next === undefined ? '–' : dueAt(next, times.clock)}>
        {suspended === 0 ? 'no provider is suspended' : `${count(suspended)} suspended`}
      </Figure>
      <Figure name="Delivered" plot="plot-delivered" value={count(delivered)}>
        {latency === null ? period : `${period}, p90 ${duration(latency.p90)}`}
      </Figure>
      <Figure name="Bounced" plot="plot-bounced" value={count(bounced)}>
        {period}
      </Figure>
    </Figures>
  );
};

/** Reputation over all domains of the organization. */
const OrganizationReputation = ({ data }: { readonly data: SerializedOrganizationReputation }): JSX.Element => (
  <section class="card" aria-label="Reputation">
    <header>
      <h2>Reputation</h2>
      <span class="muted">All domains together, shown when at least two have sent bulk mail</span>
    </header>
    <div class="gauge pad">
      <ReputationGauge reputation={data} />
    </div>
  </section>
);

/** Reads a resource that exists only in the live environment. undefined: loading, or the test environment is shown. */
const useOfLive = <T,>(path: string): T | undefined => {
  const isLive = currentEnvironment() === 'live';
  const { data } = useResource<T>({ path, everyMs: EVERY_MS, enabled: isLive });
  return isLive ? data : undefined;
};

interface HeadProps {
  readonly requests: readonly string[];
  readonly reputation: SerializedOrganizationReputation | undefined;
}

const Head = ({ requests, reputation }: HeadProps): JSX.Element => (
  <div class="head">
    <div>
      <h1>Delivery</h1>
      <p class="sub">Waiting mail, by destination and reason</p>
    </div>
    <div class="acts">
      <ApiButton requests={requests} />
      {reputation !== undefined && <PauseBulkMail since={reputation.bulk_mail_paused_since} />}
    </div>
  </div>
);

/** Pending mail by destination, with reasons. */
export const Delivery = (): JSX.Element => {
  const hour = lastHour();
  const {
    data: backlog,
    error,
    refetch,
  } = useResource<SerializedBacklog>({ path: '/v1/destinations/backlog', everyMs: EVERY_MS });
  const { data: stats } = useResource<Stats>({ path: '/v1/stats', query: hour, everyMs: EVERY_MS });
  const isLive = currentEnvironment() === 'live';
  const reputation = useOfLive<SerializedOrganizationReputation>('/v1/organization/reputation');
  const suspended = useOfLive<List<SerializedSuspension>>('/v1/destinations')?.data ?? [];
  const domains = useDomains();
  const isOperator = useStore(session)?.operator === true;
  return (
    <>
      <Head
        requests={[
          '/v1/destinations/backlog',
          '/v1/destinations',
          urlOf('/v1/stats', hour),
          ...(isLive ? ['/v1/organization/reputation'] : []),
          ...(isOperator ? ['/v1/service'] : []),
        ]}
        reputation={reputation}
      />
      <BulkMailPaused since={reputation?.bulk_mail_paused_since} />
      {error !== null && <Fault error={error} retry={() => void refetch()} />}
      {backlog === undefined && error === null && <Skeleton />}
      {backlog !== undefined && error === null && (
        <div class="stack">
          <Pipeline stats={stats} backlog={backlog} suspended={suspended.length} />
          <Suspended suspended={suspended} />
          <Destinations rows={rowsOf(backlog, stats)} backlog={backlog} />
          <WarmUps domains={domains} />
          {reputation !== undefined && <OrganizationReputation data={reputation} />}
        </div>
      )}
      {isOperator && <ServiceHealth />}
    </>
  );
};
