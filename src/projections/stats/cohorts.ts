import type { MessageEvent } from '../../domain/events.ts';
import type { RecordedEvent } from '../../domain/ports/event-store.ts';
import { binOf, type StatsMetric } from './metrics.ts';

/** The counted outcome of a recipient. */
export type Outcome = 'delivered' | 'bounced' | 'failed' | 'expired' | 'suppressed' | 'cancelled';

/** What was counted of a recipient, so that nothing is counted twice. */
export interface CountedRecipient {
  readonly id: string;
  readonly domain: string;
  /** Absent: at acceptance. */
  scheduledAt?: string;
  deferred: boolean;
  complained: boolean;
  unsubscribed: boolean;
  /** What people and machines did with it; absent: nothing. */
  engaged?: readonly EngagedMetric[];
  outcome: Outcome | null;
}

/** Of recipients, each of whom counts once. */
export type EngagedMetric = 'opened' | 'clicked' | 'machine_opened' | 'machine_clicked';

/** Where a message's recipients are counted. */
export interface Cohort {
  readonly messageId: string;
  readonly organizationId: string;
  readonly environment: string;
  readonly acceptedAt: string;
  readonly domainId: string;
  readonly stream: string;
  readonly keyId: string;
  /** Empty: it was rendered from none. */
  readonly templateId: string;
  readonly recipients: readonly CountedRecipient[];
}

/** A row of counts to add. */
export interface BucketChange extends Record<StatsMetric, number> {
  readonly organizationId: string;
  readonly environment: string;
  readonly bucket: string;
  readonly domainId: string;
  readonly stream: string;
  readonly keyId: string;
  readonly templateId: string;
  readonly recipientDomain: string;
  /** Counts by bin. */
  readonly latency: Map<number, number>;
}

export interface StatsChanges {
  readonly cohorts: Map<string, Cohort>;
  /** Ids of messages accepted in this batch, and of earlier ones whose recipients changed. */
  readonly accepted: Set<string>;
  readonly changed: Set<string>;
  readonly buckets: Map<string, BucketChange>;
}

/** There are time zones at 15 minutes past, so days are made of quarters. */
const BUCKET_MS = 900_000;

const bucketOf = (acceptedAt: string): string =>
  new Date(Math.floor(Date.parse(acceptedAt) / BUCKET_MS) * BUCKET_MS).toISOString();

/** The counts that a recipient of this domain belongs to. */
export const countsOf = ({ buckets }: StatsChanges, cohort: Cohort, recipientDomain: string): BucketChange => {
  const { organizationId, environment, domainId, stream, keyId, templateId } = cohort;
  const bucket = bucketOf(cohort.acceptedAt);
  const key = `${organizationId} ${environment} ${bucket} ${domainId} ${stream} ${keyId} ${templateId} ${recipientDomain}`;
  const found = buckets.get(key);
  if (found !== undefined) return found;
  const counts: BucketChange = {
    organizationId,
    environment,
    bucket,
    domainId,
    stream,
    keyId,
    templateId,
    recipientDomain,
    accepted: 0,
    delivered: 0,
    deferred: 0,
    bounced: 0,
    failed: 0,
    expired: 0,
    suppressed: 0,
    cancelled: 0,
    opened: 0,
    opens: 0,
    clicked: 0,
    clicks: 0,
    machine_opened: 0,
    machine_clicked: 0,
    complained: 0,
    unsubscribed: 0,
    latency: new Map(),
  };
  buckets.set(key, counts);
  return counts;
};

export const cohortOf = ({
  data,
  metadata,
}: RecordedEvent<Extract<MessageEvent, { readonly type: 'MessageAccepted' }>>): Cohort => ({
  messageId: data.messageId,
  organizationId: metadata.organizationId,
  environment: metadata.environment ?? 'live',
  acceptedAt: metadata.occurredAt,
  domainId: data.domainId,
  stream: data.stream,
  keyId: data.keyId,
  templateId: data.template?.templateId ?? '',
  recipients: data.recipients.map(({ id, domain }) => ({
    id,
    domain,
    deferred: false,
    complained: false,
    unsubscribed: false,
    outcome: null,
  })),
});

/** Counts a recipient's outcome. A later one, such as a bounce after delivery, replaces the earlier. */
export const settle = (counts: BucketChange, recipient: CountedRecipient, outcome: Outcome): void => {
  if (recipient.outcome !== null) counts[recipient.outcome] -= 1;
  counts[outcome] += 1;
  recipient.outcome = outcome;
};

/** @param milliseconds from acceptance, or from the time it was scheduled for, to delivery. */
export const addLatency = ({ latency }: BucketChange, milliseconds: number): void => {
  const bin = binOf(milliseconds);
  latency.set(bin, (latency.get(bin) ?? 0) + 1);
};

/** As `stats_buckets` holds it. */
export const rowOf = ({ latency, ...counts }: BucketChange): object => {
  const bins = [...latency].sort(([left], [right]) => left - right);
  return { ...counts, latencyBins: bins.map(([bin]) => bin), latencyCounts: bins.map(([, count]) => count) };
};
