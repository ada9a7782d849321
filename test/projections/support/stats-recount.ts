import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import type { MessageEvent } from '../../../src/domain/kernel/events.ts';
import { binOf, percentilesOf, STATS_METRICS } from '../../../src/projections/stats/metrics.ts';

type Recorded = RecordedEvent<MessageEvent>;
type Accepted = RecordedEvent<Extract<MessageEvent, { type: 'MessageAccepted' }>>;

/** One count for a recipient, with the value of every dimension. */
export interface Counted {
  readonly metric: string;
  readonly acceptedAt: string;
  readonly at: string;
  readonly by: number;
  /** A recipient can have several tags. */
  readonly values: Readonly<Record<string, string | readonly string[]>>;
}

/** A count derived from a recipient's events: the metric, the counted event and the number. */
type Found = readonly [metric: string, event: Recorded, by?: number];

const PROVIDERS: Readonly<Record<string, string>> = {
  'gmail.com': 'gmail',
  'googlemail.com': 'gmail',
  'yahoo.com': 'yahoo',
};
const ENDINGS: Readonly<Record<string, string>> = {
  RecipientDelivered: 'delivered',
  RecipientBounced: 'bounced',
  RecipientExpired: 'expired',
  RecipientFailed: 'failed',
  RecipientSuppressed: 'suppressed',
  RecipientCancelled: 'cancelled',
};
const MARKS: Readonly<Record<string, string>> = {
  RecipientDeferred: 'deferred',
  AttemptOutcomeUnknown: 'deferred',
  RecipientComplained: 'complained',
  RecipientUnsubscribed: 'unsubscribed',
};

/** The last outcome counts. */
const outcome = (own: readonly Recorded[]): readonly Found[] =>
  own
    .filter(({ type }) => type in ENDINGS)
    .slice(-1)
    .map((event) => [ENDINGS[event.type] ?? '', event]);

/** The first event of each kind counts. */
const marks = (own: readonly Recorded[]): readonly Found[] =>
  [...new Set(Object.values(MARKS))].flatMap((mark) =>
    own
      .filter(({ type }) => MARKS[type] === mark)
      .slice(0, 1)
      .map((event): Found => [mark, event]),
  );

const engagements = (own: readonly Recorded[], type: string, metric: string, times: string): readonly Found[] => {
  const all = own.flatMap((event) =>
    event.type === 'RecipientOpened' || event.type === 'RecipientClicked' ? [event] : [],
  );
  const ofType = all.filter((event) => event.type === type);
  const byPeople = ofType.filter(({ data }) => data.machine === undefined);
  const byMachines = ofType.filter(({ data }) => data.machine !== undefined);
  return [
    ...byPeople.slice(0, 1).map((event): Found => [metric, event]),
    ...byMachines.slice(0, 1).map((event): Found => [`machine_${metric}`, event]),
    ...byPeople.map((event): Found => [times, event, event.data.count]),
  ];
};

const latencies = (own: readonly Recorded[], acceptedAt: string): readonly Found[] => {
  let dueAt = acceptedAt;
  return own.flatMap((event): readonly Found[] => {
    if (event.type === 'MessageScheduled' || event.type === 'MessageRescheduled') dueAt = event.data.scheduledAt;
    if (event.type !== 'RecipientDelivered') return [];
    const ms = Math.max(0, Date.parse(event.metadata.occurredAt) - Date.parse(dueAt));
    return [[`latency ${binOf(ms)}`, event]];
  });
};

const concerns = ({ data }: Recorded, id: string): boolean =>
  ('recipientId' in data && data.recipientId === id) || ('recipientIds' in data && data.recipientIds.includes(id));

const bounceClass = (metric: string, event: Recorded): string =>
  metric === 'bounced' && event.type === 'RecipientBounced' ? (event.data.category ?? 'unknown') : '';

/** All counts for one recipient. */
const countedOf = (own: readonly Recorded[], accepted: Accepted, domain: string): readonly Counted[] => {
  const { data, metadata } = accepted;
  const found: readonly Found[] = [
    ['accepted', accepted],
    ...outcome(own),
    ...marks(own),
    ...engagements(own, 'RecipientOpened', 'opened', 'opens'),
    ...engagements(own, 'RecipientClicked', 'clicked', 'clicks'),
    ...latencies(own, metadata.occurredAt),
  ];
  return found.map(([metric, event, by = 1]) => ({
    metric,
    by,
    acceptedAt: metadata.occurredAt,
    at: event.metadata.occurredAt,
    values: {
      environment: metadata.environment ?? '',
      domain: data.domainId,
      stream: data.stream,
      api_key: data.keyId,
      template: data.template?.templateId ?? '',
      template_version: String(data.template?.version ?? 0),
      recipient_domain: domain,
      mailbox_provider: PROVIDERS[domain] ?? 'other',
      bounce_class: bounceClass(metric, event),
      tag: [...new Set(data.tagDigests)],
    },
  }));
};

export const has = ({ values }: Counted, dimension: string, value: string | undefined): boolean =>
  [values[dimension]].flat().includes(value);

/** Counts by reading the whole log, one recipient at a time. */
export const recount = (log: readonly Recorded[]): readonly Counted[] =>
  log.flatMap((event) => {
    if (event.type !== 'MessageAccepted' || event.data.trial === true) return [];
    const accepted = event as Accepted;
    const own = log.filter(({ stream }) => stream === event.stream);
    return accepted.data.recipients.flatMap(({ id, domain }) =>
      countedOf(
        own.filter((one) => concerns(one, id)),
        accepted,
        domain,
      ),
    );
  });

/** Sums counts in the format of statistics. */
export const summed = (counted: readonly Counted[]) => {
  const by = (metric: string) => counted.filter((one) => one.metric === metric).reduce((sum, one) => sum + one.by, 0);
  const bins = [...new Set(counted.map(({ metric }) => metric).filter((metric) => metric.startsWith('latency ')))]
    .map((metric) => ({ bin: Number(metric.split(' ')[1]), count: by(metric) }))
    .sort((left, right) => left.bin - right.bin);
  return { ...Object.fromEntries(STATS_METRICS.map((metric) => [metric, by(metric)])), latency: percentilesOf(bins) };
};
