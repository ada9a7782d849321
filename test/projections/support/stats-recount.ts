import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import type { MessageEvent } from '../../../src/domain/kernel/events.ts';
import { binOf, percentilesOf, STATS_METRICS } from '../../../src/projections/stats/metrics.ts';

type MessageRecord = RecordedEvent<MessageEvent>;
type AcceptanceRecord = RecordedEvent<Extract<MessageEvent, { type: 'MessageAccepted' }>>;

/** One count for a recipient, with the value of every dimension. */
export interface RecountedStats {
  readonly metric: string;
  readonly acceptedAt: string;
  readonly at: string;
  readonly by: number;
  /** A recipient can have several tags. */
  readonly values: Readonly<Record<string, string | readonly string[]>>;
}

/** A count derived from a recipient's events: the metric, the counted event and the number. */
type CountedEvent = readonly [metric: string, event: MessageRecord, by?: number];

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
const outcome = (own: readonly MessageRecord[]): readonly CountedEvent[] =>
  own
    .filter(({ type }) => type in ENDINGS)
    .slice(-1)
    .map((event) => [ENDINGS[event.type] ?? '', event]);

/** The first event of each kind counts. */
const marks = (own: readonly MessageRecord[]): readonly CountedEvent[] =>
  [...new Set(Object.values(MARKS))].flatMap((mark) =>
    own
      .filter(({ type }) => MARKS[type] === mark)
      .slice(0, 1)
      .map((event): CountedEvent => [mark, event]),
  );

const engagements = (
  own: readonly MessageRecord[],
  type: string,
  metric: string,
  times: string,
): readonly CountedEvent[] => {
  const all = own.flatMap((event) =>
    event.type === 'RecipientOpened' || event.type === 'RecipientClicked' ? [event] : [],
  );
  const ofType = all.filter((event) => event.type === type);
  const byPeople = ofType.filter(({ data }) => data.machine === undefined);
  const byMachines = ofType.filter(({ data }) => data.machine !== undefined);
  return [
    ...byPeople.slice(0, 1).map((event): CountedEvent => [metric, event]),
    ...byMachines.slice(0, 1).map((event): CountedEvent => [`machine_${metric}`, event]),
    ...byPeople.map((event): CountedEvent => [times, event, event.data.count]),
  ];
};

const latencies = (own: readonly MessageRecord[], acceptedAt: string): readonly CountedEvent[] => {
  let dueAt = acceptedAt;
  return own.flatMap((event): readonly CountedEvent[] => {
    if (event.type === 'MessageScheduled' || event.type === 'MessageRescheduled') dueAt = event.data.scheduledAt;
    if (event.type !== 'RecipientDelivered') return [];
    const ms = Math.max(0, Date.parse(event.metadata.occurredAt) - Date.parse(dueAt));
    return [[`latency ${binOf(ms)}`, event]];
  });
};

const concerns = ({ data }: MessageRecord, id: string): boolean =>
  ('recipientId' in data && data.recipientId === id) || ('recipientIds' in data && data.recipientIds.includes(id));

const bounceClass = (metric: string, event: MessageRecord): string =>
  metric === 'bounced' && event.type === 'RecipientBounced' ? (event.data.category ?? 'unknown') : '';

/** All counts for one recipient. */
const countedOf = (
  own: readonly MessageRecord[],
  accepted: AcceptanceRecord,
  domain: string,
): readonly RecountedStats[] => {
  const { data, metadata } = accepted;
  const found: readonly CountedEvent[] = [
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
      template_version: String(data.template?.version ?? ''),
      recipient_domain: domain,
      mailbox_provider: PROVIDERS[domain] ?? 'other',
      bounce_class: bounceClass(metric, event),
      tag: [...new Set(data.tagDigests)],
    },
  }));
};

export const has = ({ values }: RecountedStats, dimension: string, value: string | undefined): boolean =>
  [values[dimension]].flat().includes(value);

/** Counts by reading the whole log, one recipient at a time. */
export const recount = (log: readonly MessageRecord[]): readonly RecountedStats[] =>
  log.flatMap((event) => {
    if (event.type !== 'MessageAccepted' || event.data.trial === true) return [];
    const accepted = event as AcceptanceRecord;
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
export const summed = (counted: readonly RecountedStats[]) => {
  const by = (metric: string) => counted.filter((one) => one.metric === metric).reduce((sum, one) => sum + one.by, 0);
  const bins = [...new Set(counted.map(({ metric }) => metric).filter((metric) => metric.startsWith('latency ')))]
    .map((metric) => ({ bin: Number(metric.split(' ')[1]), count: by(metric) }))
    .sort((left, right) => left.bin - right.bin);
  return { ...Object.fromEntries(STATS_METRICS.map((metric) => [metric, by(metric)])), latency: percentilesOf(bins) };
};
