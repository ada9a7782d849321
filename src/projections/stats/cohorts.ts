import type { BounceCategory } from '../../domain/bounce/reply-words.ts';
import { binOf, STATS_METRICS, type StatsMetric } from './metrics.ts';
import { type AcceptedEvent, keptTags, type Tags } from './tags.ts';

/**
 * Changes of a batch to `stats_buckets`. Events are counted by quarter and recipient domain. When the batch is written, the
 * other rows are summed from these (`rowsOf`). A row exists if an event ever touched it, even if its sum is zero, so that
 * a rebuild with other batches produces the same rows.
 */

/** The counted outcome of a recipient. */
export type Outcome = 'delivered' | 'bounced' | 'failed' | 'expired' | 'suppressed' | 'cancelled';

/** Metrics counted so far for a recipient, so that none is counted twice. */
export interface CountedRecipient {
  readonly id: string;
  readonly domain: string;
  /** Absent: at acceptance. */
  scheduledAt?: string;
  /** Absent: it was not. */
  deferred?: true;
  complained?: true;
  unsubscribed?: true;
  /** Openings and clicks by people and machines; absent: none. */
  engaged?: readonly EngagedMetric[];
  outcome: Outcome | null;
  /** Absent: in the quarter of the acceptance. */
  outcomeAt?: string | undefined;
  bounceClass?: BounceCategory | undefined;
}

/** Metrics of recipients. Each recipient is counted once. */
export type EngagedMetric = 'opened' | 'clicked' | 'machine_opened' | 'machine_clicked';

/** The group and time in which a message's recipients are counted. */
export interface Cohort {
  readonly messageId: string;
  readonly organizationId: string;
  readonly environment: string;
  readonly acceptedAt: string;
  readonly domainId: string;
  readonly stream: string;
  readonly keyId: string;
  /** Empty, and 0: it was rendered from none. */
  readonly templateId: string;
  readonly templateVersion: number;
  /** Digests; `(other)`: one that is not kept. */
  readonly tags: readonly string[];
  readonly recipients: readonly CountedRecipient[];
}

/** Optional further dimension of a message's recipients. */
type Split = 'recipient_domain' | 'tag';

/** Dimensions common to all rows of a message. */
type Dimensions = Pick<
  Cohort,
  'organizationId' | 'environment' | 'domainId' | 'stream' | 'keyId' | 'templateId' | 'templateVersion'
>;

/** Dimensions that differ between rows of a message. */
interface Place {
  readonly split: '' | Split | `${Split}_day`;
  /** Start of the quarter or day, in milliseconds. */
  readonly startMs: number;
  readonly moved: boolean;
  readonly bounceClass: string;
  readonly splitValue: string;
}

/** A row of counts to add. */
interface BucketChange {
  readonly place: Place;
  readonly counts: Map<StatsMetric, number>;
  /** Counts by bin. */
  readonly latency: Map<number, number>;
}

/** By place. */
type Buckets = Map<string, BucketChange>;

interface Group {
  readonly dimensions: Dimensions;
  readonly buckets: Buckets;
}

export interface StatsChanges {
  readonly tags: Tags;
  readonly cohorts: Map<string, Cohort>;
  /** Ids of messages accepted in this batch, and of earlier ones whose recipients changed. */
  readonly accepted: Set<string>;
  readonly changed: Set<string>;
  /** By their dimensions. */
  readonly groups: Map<string, Group>;
}

/** Some time zones are offset by 15 minutes, so days are summed from quarters of an hour. */
const QUARTER_MS = 900_000;
const DAY_MS = 86_400_000;

const startOf = (timeMs: number, lengthMs: number): number => timeMs - (timeMs % lengthMs);

const bucketsOf = (groups: StatsChanges['groups'], cohort: Cohort): Buckets => {
  const { organizationId, environment, domainId, stream, keyId, templateId, templateVersion } = cohort;
  const key = `${organizationId} ${environment} ${domainId} ${stream} ${keyId} ${templateId} ${templateVersion}`;
  const found = groups.get(key);
  if (found !== undefined) return found.buckets;
  const dimensions = { organizationId, environment, domainId, stream, keyId, templateId, templateVersion };
  const buckets: Buckets = new Map();
  groups.set(key, { dimensions, buckets });
  return buckets;
};

const at = (buckets: Buckets, place: Place): BucketChange => {
  const { split, startMs, moved, bounceClass, splitValue } = place;
  const key = `${split} ${startMs} ${moved} ${bounceClass} ${splitValue}`;
  const found = buckets.get(key);
  if (found !== undefined) return found;
  const change: BucketChange = { place, counts: new Map(), latency: new Map() };
  buckets.set(key, change);
  return change;
};

const add = <Key>(to: Map<Key, number>, key: Key, by: number): void => {
  to.set(key, (to.get(key) ?? 0) + by);
};

export const cohortOf = (changes: StatsChanges, event: AcceptedEvent): Cohort => {
  const { data, metadata } = event;
  return {
    messageId: data.messageId,
    organizationId: metadata.organizationId,
    environment: metadata.environment ?? 'live',
    acceptedAt: metadata.occurredAt,
    domainId: data.domainId,
    stream: data.stream,
    keyId: data.keyId,
    templateId: data.template?.templateId ?? '',
    templateVersion: data.template?.version ?? 0,
    recipients: data.recipients.map(({ id, domain }) => ({
      id,
      domain,
      outcome: null,
    })),
    tags: keptTags(changes.tags, event),
  };
};

/** Counts one recipient of a cohort. */
export interface Counter {
  readonly acceptedAt: string;
  /** Whether it is in another quarter than the acceptance. */
  isMoved(time: string): boolean;
  /** @param time of the event that makes it count. */
  count(metric: StatsMetric, time: string, by?: number, bounceClass?: string): void;
  /** @param milliseconds from acceptance, or from the time it was scheduled for, to delivery. */
  latency(milliseconds: number, time: string): void;
}

export const counterOf = ({ groups }: StatsChanges, cohort: Cohort, recipientDomain: string): Counter => {
  const { acceptedAt, tags } = cohort;
  const buckets = bucketsOf(groups, cohort);
  const acceptedMs = Date.parse(acceptedAt);
  const acceptedQuarter = startOf(acceptedMs, QUARTER_MS);
  const isIn = (timeMs: number): boolean => startOf(timeMs, QUARTER_MS) === acceptedQuarter;

  type Change = (bucket: BucketChange, sign: 1 | -1) => void;
  type Where = Pick<Place, 'bounceClass' | 'splitValue'> & { readonly split: Split };
  /** In the bucket of acceptance; if the event is of another, the difference is noted. */
  const eachOf = ({ split, bounceClass, splitValue }: Where, timeMs: number, change: Change) => {
    const move = (moving: Place['split'], lengthMs: number): void => {
      const [from, to] = [startOf(acceptedMs, lengthMs), startOf(timeMs, lengthMs)];
      if (from === to) return;
      change(at(buckets, { split: moving, startMs: from, moved: true, bounceClass, splitValue }), -1);
      change(at(buckets, { split: moving, startMs: to, moved: true, bounceClass, splitValue }), 1);
    };
    change(at(buckets, { split, startMs: acceptedQuarter, moved: false, bounceClass, splitValue }), 1);
    if (isIn(timeMs)) return;
    move(split, QUARTER_MS);
    move(`${split}_day`, DAY_MS);
  };
  const each = (time: string, bounceClass: string, change: Change): void => {
    const timeMs = Date.parse(time);
    eachOf({ split: 'recipient_domain', bounceClass, splitValue: recipientDomain }, timeMs, change);
    for (const tag of tags) eachOf({ split: 'tag', bounceClass, splitValue: tag }, timeMs, change);
  };
  return {
    acceptedAt,
    isMoved: (time) => !isIn(Date.parse(time)),
    count: (metric, time, by = 1, bounceClass = '') =>
      each(time, bounceClass, ({ counts }, sign) => add(counts, metric, sign * by)),
    latency: (milliseconds, time) => each(time, '', ({ latency }, sign) => add(latency, binOf(milliseconds), sign)),
  };
};

interface RecipientEnd {
  readonly outcome: Outcome;
  readonly time: string;
  readonly bounceClass?: BounceCategory | undefined;
}

/** Counts a recipient's outcome. A later one, such as a bounce after delivery, replaces the earlier. */
export const settle = (
  { count, isMoved, acceptedAt }: Counter,
  recipient: CountedRecipient,
  ending: RecipientEnd,
): void => {
  const { outcome, outcomeAt = acceptedAt, bounceClass } = recipient;
  if (outcome !== null) count(outcome, outcomeAt, -1, bounceClass);
  count(ending.outcome, ending.time, 1, ending.bounceClass);
  recipient.outcome = ending.outcome;
  recipient.outcomeAt = isMoved(ending.time) ? ending.time : undefined;
  recipient.bounceClass = ending.bounceClass;
};

const addAll = <Key>(to: Map<Key, number>, from: ReadonlyMap<Key, number>): void => {
  for (const [key, by] of from) add(to, key, by);
};

const dayOf = (place: Place, split: Split): readonly Place[] =>
  place.moved ? [] : [{ ...place, split: `${split}_day`, startMs: startOf(place.startMs, DAY_MS) }];

/** The other kinds of rows that the counts of this one are added up to. */
const summed = (place: Place): readonly Place[] => {
  if (place.split === 'tag') return dayOf(place, 'tag');
  if (place.split !== 'recipient_domain') return [];
  return [{ ...place, split: '', splitValue: '' }, ...dayOf(place, 'recipient_domain')];
};

const rowOf = (dimensions: Dimensions, { place: { startMs, ...place }, counts, latency }: BucketChange): object => {
  const bins = [...latency].sort(([left], [right]) => left - right);
  return {
    ...dimensions,
    ...place,
    bucket: new Date(startMs),
    ...Object.fromEntries(STATS_METRICS.map((metric) => [metric, counts.get(metric) ?? 0])),
    latencyBins: bins.map(([bin]) => bin),
    latencyCounts: bins.map(([, count]) => count),
  };
};

const rowsOfGroup = ({ dimensions, buckets }: Group): readonly object[] => {
  const sums: Buckets = new Map();
  for (const { place, counts, latency } of buckets.values())
    for (const sum of summed(place).map((other) => at(sums, other))) {
      addAll(sum.counts, counts);
      addAll(sum.latency, latency);
    }
  return [...buckets.values(), ...sums.values()].map((change) => rowOf(dimensions, change));
};

/** Rows of `stats_buckets`. */
export const rowsOf = (groups: StatsChanges['groups']): readonly object[] => [...groups.values()].flatMap(rowsOfGroup);
