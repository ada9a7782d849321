import type { JSX } from 'preact';
import type { SerializedBacklog, SerializedSuspension } from '../../http/schemas/destination.ts';
import type { List } from '../../http/schemas/envelope.ts';
import type { SerializedOrganizationReputation } from '../../http/schemas/sender-reputation.ts';
import { urlOf } from '../data/api.ts';
import { session } from '../data/credentials.ts';
import { currentEnvironment } from '../data/location.ts';
import { useDomains } from '../data/names.ts';
import { useResource } from '../data/queries.ts';
import type { Stats } from '../data/statistics.ts';
import { useStore } from '../data/store.ts';
import { count, duration, sofar, useTimes } from '../data/time.ts';
import { ApiButton } from '../parts/api-button.tsx';
import { Destinations, perMinute, rowsOf, Suspended } from '../parts/destinations.tsx';
import { Figure, Figures } from '../parts/figures.tsx';
import { BulkMailPaused, PauseBulkMail } from '../parts/pause-bulk-mail.tsx';
import { ReputationGauge } from '../parts/reputation-gauge.tsx';
import { ServiceHealth } from '../parts/service-health.tsx';
import { Fault, Skeleton } from '../parts/states.tsx';
import { WarmUps } from '../parts/warm-ups.tsx';

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
  return (
    <Figures>
      <Figure name="Accepted" value={perMinute(accepted, stats)}>
        in the last hour
      </Figure>
      <Figure name="Asked to wait" value={`${count(waiting)}${backlog.complete ? '' : ' or more'}`}>
        {longest === undefined ? 'nothing waits' : `longest ${sofar(longest)}`}
      </Figure>
      <Figure name="Next attempt" value={next === undefined ? '–' : times.clock(next)}>
        {suspended === 0 ? 'no provider is suspended' : `${count(suspended)} suspended`}
      </Figure>
      <Figure name="Delivered" plot="plot-delivered" value={perMinute(delivered, stats)}>
        {latency === null ? 'none in the last hour' : `p90 ${duration(latency.p90)}`}
      </Figure>
      <Figure name="Bounced" plot="plot-bounced" value={perMinute(bounced, stats)}>
        in the last hour
      </Figure>
    </Figures>
  );
};

/** Reputation over all domains of the organization. */
const OrganizationReputation = ({ data }: { readonly data: SerializedOrganizationReputation }): JSX.Element => (
  <section class="card" aria-label="Reputation">
    <header>
      <h2>Reputation</h2>
      <span class="muted">All domains together, once two of them have sent bulk mail</span>
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
      <p class="sub">What waits, where, and why</p>
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
      {backlog !== undefined && (
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
