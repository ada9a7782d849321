import type { ComponentChildren, JSX } from 'preact';
import type { PartName, PartStatus, SerializedService, ServiceParts } from '../../http/service-health.ts';
import { Figure, Figures } from '../components/facts.tsx';
import { Pill } from '../components/icons.tsx';
import { Fault, Notice } from '../components/states.tsx';
import { useResource } from '../data/queries.ts';
import { ago, count, duration, useTimes } from '../data/time.ts';

const SIZES = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;
/** Formats 840 B or 1.2 GB in decimal units. */
const bytes = (value: number): string => {
  const at = Math.min(SIZES.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
  const shown = value / 1000 ** at;
  return `${shown >= 100 || at === 0 ? Math.round(shown) : Number(shown.toFixed(1))} ${SIZES[at]}`;
};

/** Health of the whole service, for operators. It shows no organization's figures. */

const EVERY_MS = 5_000;

type Facts<Name extends PartName> = NonNullable<ServiceParts[Name]['facts']>;

const STATES = {
  ok: { state: 'active', word: 'Healthy' },
  attention: { state: 'warning', word: 'Needs attention' },
  unknown: { state: 'unchecked', word: 'Unknown' },
  unused: { state: 'unchecked', word: 'Not used' },
} as const;

interface CardProps {
  readonly name: string;
  readonly status: PartStatus;
  /** Replaces the word for healthy. */
  readonly word?: string;
  readonly children: ComponentChildren;
}

const HealthCard = ({ name, status, word, children }: CardProps): JSX.Element => (
  <section class="card" aria-label={name}>
    <header>
      <h2>{name}</h2>
      <span class="sp" />
      <Pill state={STATES[status].state} word={(status === 'ok' ? word : undefined) ?? STATES[status].word} />
    </header>
    <dl>{children}</dl>
  </section>
);

const Line = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element => (
  <div>
    <dt>{name}</dt>
    <dd class="num">{children}</dd>
  </div>
);

/** The worst status of parts that share a card. */
const worst = (...parts: readonly { readonly status: PartStatus }[]): PartStatus =>
  (['attention', 'unknown'] as const).find((status) => parts.some((part) => part.status === status)) ?? 'ok';

const seconds = (value: number): string => duration(value * 1000);
/** Rounds to a tenth: 0.4 ms. */
const milliseconds = (value: number): string => (value < 10 ? `${value.toFixed(1)} ms` : duration(value));
const rate = (value: number): string => `${value >= 10 ? count(Math.round(value)) : Number(value.toFixed(1))}/min`;

const queueOf = (queues: Facts<'queues'> | null, name: Facts<'queues'>['data'][number]['name']) =>
  queues?.data.find((one) => one.name === name);

/** @returns `otherwise` if the part did not respond. */
const say = <F,>(facts: F | null | undefined, words: (facts: F) => string, otherwise = 'unknown'): string =>
  facts == null ? otherwise : words(facts);

const inHandOf = (queues: Facts<'queues'>): number =>
  queues.data.reduce((sum, { name, active }) => (name.endsWith('_mail') ? sum + (active ?? 0) : sum), 0);

const withWorkers = ({ data }: Facts<'instances'>): string => {
  const many = data.filter(({ roles }) => roles.includes('workers')).length;
  return `${count(many)} ${many === 1 ? 'process' : 'processes'} with workers`;
};

const Pipeline = ({ parts }: Pick<SerializedService, 'parts'>): JSX.Element => {
  const [rates, queues] = [parts.rates.facts, parts.queues.facts];
  const due = queueOf(queues, 'due_mail');
  return (
    <Figures>
      <Figure name="Accepted" value={say(rates, (one) => rate(one.accepted_per_minute), '–')}>
        by the whole service
      </Figure>
      <Figure name="Scheduled" value={say(queues, ({ scheduled }) => count(scheduled), '–')}>
        {say(queues, ({ held }) => `${count(held)} held`)}
      </Figure>
      <Figure name="Waiting" value={say(due, ({ waiting }) => count(waiting + (queues?.deferred ?? 0)), '–')}>
        {say(due, (one) => `${count(one.waiting)} due, longest ${seconds(one.oldest_seconds ?? 0)}`)}
      </Figure>
      <Figure name="In progress" value={say(queues, (one) => count(inHandOf(one)), '–')}>
        {say(parts.instances.facts, withWorkers)}
      </Figure>
      <Figure name="Delivered" value={say(rates, (one) => rate(one.delivered_per_minute), '–')}>
        by the whole service
      </Figure>
    </Figures>
  );
};

const ReadModels = ({ part }: { readonly part: ServiceParts['read_models'] }): JSX.Element => {
  const models = part.facts?.data ?? [];
  const parked = models.reduce((sum, one) => sum + one.parked_events, 0);
  const slowest = models.toSorted((one, other) => other.seconds_behind - one.seconds_behind).slice(0, 3);
  const rebuilt = models.filter((one) => one.is_rebuilding).map(({ name }) => name);
  return (
    <HealthCard name="Read models" status={part.status} word="Current">
      {slowest.map(({ name, seconds_behind: behind, events_behind: events }) => (
        <Line key={name} name={name}>
          {behind === 0 ? 'current' : `${seconds(behind)} behind`}
          {events !== null && events > 0 && `, ${count(events)} events`}
        </Line>
      ))}
      <Line name="Parked events">{parked === 0 ? 'none' : count(parked)}</Line>
      <Line name="Rebuilding">{rebuilt.length === 0 ? 'none' : rebuilt.join(', ')}</Line>
    </HealthCard>
  );
};

const Log = ({ parts: { log, process } }: Pick<SerializedService, 'parts'>): JSX.Element => {
  const appends = log.facts?.append_ms ?? null;
  return (
    <HealthCard name="Log" status={worst(log, process)} word="Intact">
      <Line name="Head">{log.facts === null ? 'unknown' : log.facts.position.replace(/^0+(?=\d)/, '')}</Line>
      <Line name="Engine">{log.facts?.engine === 'eventstoredb' ? 'EventStoreDB' : 'PostgreSQL'}</Line>
      <Line name="Appends here">
        {appends === null || log.facts === null
          ? 'none in the last minute'
          : `${rate(log.facts.appends_per_minute)}, p99 ${milliseconds(appends.p99)}`}
      </Line>
      <Line name="Event loop here">
        {process.facts === null ? 'unknown' : `longest delay ${milliseconds(process.facts.event_loop_delay_ms.max)}`}
      </Line>
      <Line name="This process">
        {process.facts === null
          ? 'unknown'
          : `${bytes(process.facts.memory_bytes)}, up ${seconds(Math.round(process.facts.uptime_seconds))}`}
      </Line>
    </HealthCard>
  );
};

const ROLES = ['api', 'projections', 'workers'] as const;

const Processes = ({ parts: { instances, process } }: Pick<SerializedService, 'parts'>): JSX.Element => {
  const up = instances.facts?.data ?? [];
  return (
    <HealthCard name="Processes" status={instances.status} word={`${count(up.length)} up`}>
      {ROLES.map((role) => {
        const having = up.filter(({ roles }) => roles.includes(role));
        const versions = [...new Set(having.map(({ version }) => version))].join(', ');
        return (
          <Line key={role} name={role}>
            {having.length === 0 ? 'none' : `${count(having.length)}, version ${versions}`}
          </Line>
        );
      })}
      <Line name="Last started">{up.length === 0 ? 'unknown' : ago(up[up.length - 1]?.connected_since ?? '')}</Line>
      <Line name="Leader">
        {process.facts === null || process.facts.is_leader === null
          ? 'has no workers'
          : process.facts.is_leader
            ? 'yes'
            : 'no'}
      </Line>
    </HealthCard>
  );
};

const Engines = ({ parts: { database, redis, disk } }: Pick<SerializedService, 'parts'>): JSX.Element => (
  <HealthCard name="PostgreSQL" status={worst(database, redis, disk)}>
    <Line name="Version">{database.facts?.version ?? 'unknown'}</Line>
    <Line name="Latency">{say(database.facts, (one) => milliseconds(one.latency_ms))}</Line>
    <Line name="Connections">
      {say(database.facts, (one) => `${count(one.connections)} of ${count(one.connections_max)}`)}
    </Line>
    <Line name="Size">{say(database.facts, (one) => bytes(one.size_bytes))}</Line>
    {disk.status !== 'unused' && (
      <Line name="Free disk space">
        {disk.facts === null ? 'unknown' : `${bytes(disk.facts.free_bytes)} of ${bytes(disk.facts.size_bytes)}`}
      </Line>
    )}
    {redis.status !== 'unused' && (
      <Line name="Redis latency">{redis.facts === null ? 'unknown' : milliseconds(redis.facts.latency_ms)}</Line>
    )}
  </HealthCard>
);

const QUEUES = {
  transactional_mail: 'Transactional mail',
  bulk_mail: 'Bulk mail',
  due_mail: 'Due mail',
  webhook_deliveries: 'Webhooks',
} as const;

const Queues = ({ part }: { readonly part: ServiceParts['queues'] }): JSX.Element => (
  <HealthCard name="Queues" status={part.status}>
    {(part.facts?.data ?? []).map(({ name, waiting, active, oldest_seconds: oldest }) => (
      <Line key={name} name={QUEUES[name]}>
        {count(waiting)} waiting
        {active !== null && `, ${count(active)} in progress`}
        {oldest !== null && oldest > 0 && `, oldest ${seconds(oldest)}`}
      </Line>
    ))}
    <Line name="Deferred">{part.facts === null ? 'unknown' : count(part.facts.deferred)}</Line>
  </HealthCard>
);

const WAYS = { capture: 'captured', direct: 'to the recipients’ servers', smarthost: 'through a smarthost' } as const;

const Upkeep = ({ parts: { mail, audit, backup } }: Pick<SerializedService, 'parts'>): JSX.Element => {
  const times = useTimes();
  const smarthost = mail.facts?.smarthost ?? null;
  return (
    <HealthCard name="Mail and maintenance" status={worst(mail, audit, backup)}>
      <Line name="Mail is sent">{say(mail.facts, ({ kind }) => WAYS[kind])}</Line>
      {smarthost !== null && <Line name="Smarthost">{smarthost === 'works' ? 'accepts mail' : 'refuses'}</Line>}
      <Line name="Audit check">
        {say(audit.facts, ({ checked_at: at }) => say(at, (one) => times.short(one), 'none yet'))}
      </Line>
      <Line name="Audit faults">{say(audit.facts, ({ faults }) => (faults === 0 ? 'none' : count(faults)))}</Line>
      <Line name="Last backup">{say(backup.facts, ({ taken_at: at }) => ago(at), 'none known')}</Line>
    </HealthCard>
  );
};

export const ServiceHealth = (): JSX.Element => {
  const { data, error, refetch } = useResource<SerializedService>({ path: '/v1/service', everyMs: EVERY_MS });
  const problems = Object.values(data?.parts ?? {}).flatMap((part) => part.problems);
  return (
    <section class="health" aria-labelledby="health-title">
      <h2 id="health-title">Service health</h2>
      {error !== null && <Fault error={error} retry={() => void refetch()} />}
      {problems.map((problem) => (
        <Notice key={problem} tone="wait" state="warning">
          {problem}
        </Notice>
      ))}
      {data !== undefined && (
        <>
          <Pipeline parts={data.parts} />
          <div class="lag">
            <ReadModels part={data.parts.read_models} />
            <Log parts={data.parts} />
            <Processes parts={data.parts} />
            <Queues part={data.parts.queues} />
            <Engines parts={data.parts} />
            <Upkeep parts={data.parts} />
          </div>
        </>
      )}
    </section>
  );
};
