import type { BounceCategory } from '../../domain/bounce/categories.ts';
import type { Environment } from '../../domain/kernel/environment.ts';
import type { RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { MessageEvent } from '../../domain/kernel/events.ts';
import { asRecords, type Database, rowsInto } from '../../lib/projections/projections.ts';
import { binOf, STATS_METRICS, STATS_OTHERS, type StatsMetric } from './metrics.ts';

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
type EngagedMetric = 'opened' | 'clicked' | 'machine_opened' | 'machine_clicked';

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

/**
 * The tags that statistics are kept by: of an organization, environment and day the first ones. Events have keyed digests
 * of tags; what they say is in the contents of messages alone.
 */

/** A tag that is kept on a day (UTC), and contents that name it. */
interface KeptTag {
  readonly organizationId: string;
  readonly environment: string;
  readonly day: string;
  readonly tag: string;
  readonly contentId: string;
}

interface Tags {
  /** Those that are kept, by organization, environment and day. */
  readonly kept: Map<string, Set<string>>;
  /** Those of them that this batch adds. */
  readonly added: KeptTag[];
}

type AcceptedEvent = RecordedEvent<Extract<MessageEvent, { readonly type: 'MessageAccepted' }>>;

/** Key under which the tags of a message's day are stored. */
const tagPlaceOf = ({ metadata: { organizationId, environment, occurredAt } }: RecordedEvent) => ({
  organizationId,
  environment: environment ?? 'live',
  day: occurredAt.slice(0, '2026-01-31'.length),
});

/** Tags that are kept of an organization in a day: a tag such as an order's number would make rows without end. */
const TAGS_MAX = 100;

/** Tags under which a message is counted: each tag separately, if it is among the first of the day. */
const keptTags = ({ kept: all, added }: Tags, event: AcceptedEvent): readonly string[] => {
  const { tagDigests, contentId } = event.data;
  const own = [...new Set(tagDigests)];
  if (own.length === 0) return [];
  const place = tagPlaceOf(event);
  const key = Object.values(place).join(' ');
  const kept = all.get(key) ?? new Set();
  all.set(key, kept);
  for (const tag of own.filter((one) => !kept.has(one)).slice(0, TAGS_MAX - kept.size)) {
    kept.add(tag);
    added.push({ ...place, tag, contentId });
  }
  return [...new Set(own.map((tag) => (kept.has(tag) ? tag : STATS_OTHERS)))];
};

/** Tags kept on the days of the messages that are accepted here. */
export const readTags = async (db: Database, events: readonly RecordedEvent[]): Promise<Tags> => {
  const tagged = events.filter(({ type, data }) => type === 'MessageAccepted' && data.tagDigests.length > 0);
  const places = new Map(tagged.map(tagPlaceOf).map((place) => [Object.values(place).join(' '), place]));
  if (places.size === 0) return { kept: new Map(), added: [] };
  const { rows } = await db.query<{ readonly place: string; readonly tags: readonly string[] }>({
    name: 'stats-tags',
    text: SELECT_TAGS,
    values: asRecords([...places.values()]),
  });
  return { kept: new Map(rows.map(({ place, tags }) => [place, new Set(tags)])), added: [] };
};

const SELECT_TAGS = `
  select concat_ws(' ', t.organization_id, t.environment, to_char(t.day, 'YYYY-MM-DD')) as place, array_agg(tag) as tags
  from json_to_recordset($1) as d("organizationId" text, environment text, day date)
  join stats_tags t on t.organization_id = d."organizationId" and t.environment = d.environment and t.day = d.day
  group by place`;

export const insertTags = rowsInto<KeptTag>('stats_tags', {
  organization_id: 'organizationId',
  environment: 'environment',
  day: 'day',
  tag: 'tag',
  content_id: 'contentId',
});

/** A content may be erased or expired: the newest few of each tag. */
const TAG_CONTENTS = `
  select distinct c.content_id as id
  from unnest($3::text[]) as wanted(tag), lateral (
    select content_id from read_models.stats_tags t
    where t.organization_id = $1 and t.environment = any($2::text[]) and t.tag = wanted.tag
    order by t.day desc limit 3) c`;

interface AskTagContents {
  readonly organizationId: string;
  /** null: both. */
  readonly environment: Environment | null;
  /** Digests. */
  readonly tags: readonly string[];
}

/** Ids of contents that name these tags. */
export const tagContents = async (db: Database, by: AskTagContents): Promise<readonly string[]> => {
  const environments = by.environment === null ? ['live', 'test'] : [by.environment];
  const { rows } = await db.query<{ readonly id: string }>(TAG_CONTENTS, [by.organizationId, environments, by.tags]);
  return rows.map(({ id }) => id);
};
