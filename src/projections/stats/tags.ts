import type { Environment } from '../../domain/kernel/environment.ts';
import type { RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { MessageEvent } from '../../domain/kernel/events.ts';
import { asRecords, type Database } from '../database.ts';
import { rowsInto } from '../rebuild-tables.ts';
import { STATS_OTHERS } from './metrics.ts';

/**
 * The tags that statistics are kept by: of an organization, environment and day the first ones. Events have keyed digests
 * of tags; what they say is in the contents of messages alone.
 */

/** A tag that is kept on a day (UTC), and contents that name it. */
export interface KeptTag {
  readonly organizationId: string;
  readonly environment: string;
  readonly day: string;
  readonly tag: string;
  readonly contentId: string;
}

export interface Tags {
  /** Those that are kept, by organization, environment and day. */
  readonly kept: Map<string, Set<string>>;
  /** Those of them that this batch adds. */
  readonly added: KeptTag[];
}

export type AcceptedEvent = RecordedEvent<Extract<MessageEvent, { readonly type: 'MessageAccepted' }>>;

/** Key under which the tags of a message's day are stored. */
const tagPlaceOf = ({ metadata: { organizationId, environment, occurredAt } }: RecordedEvent) => ({
  organizationId,
  environment: environment ?? 'live',
  day: occurredAt.slice(0, '2026-01-31'.length),
});

/** Tags that are kept of an organization in a day: a tag such as an order's number would make rows without end. */
const TAGS_MAX = 100;

/** Tags under which a message is counted: each tag separately, if it is among the first of the day. */
export const keptTags = ({ kept: all, added }: Tags, event: AcceptedEvent): readonly string[] => {
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

export interface AskTagContents {
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
