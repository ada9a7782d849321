import type { JSX } from 'preact';
import type { SerializedBacklog, SerializedSuspension } from '../../http/schemas/destination.ts';
import { linkTo, usePlace, withParameters } from '../data/location.ts';
import type { Stats } from '../data/statistics.ts';
import { ago, count, sofar, useTimes } from '../data/time.ts';
import { Status } from './icons.tsx';
import { ReleaseDestination } from './release-destination.tsx';
import { Empty } from './states.tsx';

/** Places where mail waits: domains that asked for a pause, and suspended mailbox providers. */

/** @param stats statistics of the last hour and the current quarter of an hour. */
export const perMinute = (recipients: number, stats: Stats | undefined): string => {
  const minutes = (Date.now() - Date.parse(stats?.from ?? '')) / 60_000;
  const rate = stats === undefined ? 0 : recipients / minutes;
  if (rate === 0) return 'none';
  return `${rate >= 10 ? count(Math.round(rate)) : Number(rate.toFixed(rate < 1 ? 2 : 1))}/min`;
};

type Waiting = SerializedBacklog['data'][number];

interface Row {
  readonly domain: string;
  readonly waiting: Waiting | null;
  /** Delivery rate over the last hour, such as `12/min`. */
  readonly rate: string;
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
    rate: perMinute(delivered.get(domain) ?? 0, stats),
  }));
};

const LastReply = ({ reply }: { readonly reply: Waiting['last_reply'] }): JSX.Element => (
  <a class="lnk" href={linkTo(`/messages/${reply.message_id}`)}>
    <code>{reply.code === 0 ? 'no answer' : [reply.code, reply.enhanced].filter(Boolean).join(' ')}</code>{' '}
    <bdi class="muted">{reply.mx ?? ''}</bdi> <span class="muted">{ago(reply.at)}</span>
  </a>
);

const DomainRow = ({ row: { domain, waiting, rate } }: { readonly row: Row }): JSX.Element => {
  const times = useTimes();
  return (
    <tr>
      <td class="b">
        <bdi>{domain}</bdi>
      </td>
      <td>
        {waiting === null ? (
          <Status state="delivered" word="Taken" />
        ) : (
          <Status state="deferred" word="Asked to wait" />
        )}
      </td>
      <td class="r num">
        {count(waiting?.recipients ?? 0)} <span class="only-s">waiting, </span>
        <small class="muted">{rate}</small>
      </td>
      <td class="r num hide-s">{waiting === null ? 'none' : sofar(waiting.since)}</td>
      <td class="hide-s">{waiting === null ? '' : times.clock(waiting.next_attempt_at)}</td>
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
    <li class="susp">
      <Status state="fault" word="Suspended" />
      <span>
        <bdi class="b">{destination}</bdi>
        <small class="muted">
          {message} {smtp.code > 0 && <code>{[smtp.code, smtp.enhanced].filter(Boolean).join(' ')}</code>} Since{' '}
          {ago(since)}, tried again at {times.clock(until)}.
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
        {!backlog.complete && <span class="muted">of the newest 2,000 deferrals: more may wait</span>}
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
        <Empty icon="check" title="Nothing was asked to wait">
          A destination that defers mail shows up here with what it said, and when it is tried again.
        </Empty>
      ) : (
        <table class="dests">
          <thead>
            <tr>
              <th>Destination</th>
              <th>State</th>
              <th class="r">Waiting, rate</th>
              <th class="r hide-s">Longest</th>
              <th class="hide-s">Next attempt</th>
              <th class="hide-s">Last said</th>
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
