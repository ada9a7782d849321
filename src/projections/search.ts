import type { Environment } from '../domain/kernel/environment.ts';
import type { RecipientStatus } from '../domain/message/message.ts';
import type { Database } from '../lib/projections/projections.ts';
import { BOTH_ENVIRONMENTS } from './events/queries.ts';

/**
 * Looks up resources of an organization by id, or by the beginning of a name, whatever its letter case (ASCII). Each
 * statement is one probe of an index: of the primary key, or of the index by name that the table has for it.
 */

export interface FoundResource {
  readonly id: string;
  /** null: it has none. */
  readonly name: string | null;
}

interface Kind {
  readonly table: string;
  readonly id: string;
  /** Name. For `NAMED_KINDS`, the expression of the index by name. Absent: it has no name. */
  readonly name?: string;
  /** Which of them there still are. */
  readonly present: string;
  /** The environments of a kind that has one. */
  readonly environments?: true;
}

const NAME = "state->>'name'";
const PRESENT = "status <> 'deleted'";

/** Resources with names. Templates are also found by alias. */
const KINDS = {
  api_key: { table: 'api_keys', id: 'key_id', name: NAME, present: PRESENT, environments: true },
  domain: { table: 'domains', id: 'domain_id', name: NAME, present: "state->>'status' <> 'deleted'" },
  template: { table: 'templates', id: 'template_id', name: NAME, present: PRESENT },
  template_alias: { table: 'templates', id: 'template_id', name: "state->>'alias'", present: PRESENT },
  webhook: {
    table: 'webhooks',
    id: 'webhook_id',
    name: "split_part(state->>'url', '//', 2)",
    present: PRESENT,
    environments: true,
  },
  topic: { table: 'topics', id: 'topic_id', name: NAME, present: PRESENT },
  inbound_route: { table: 'inbound_routes', id: 'route_id', name: "state->>'match'", present: PRESENT },
  suppression: { table: 'suppressions', id: 'suppression_id', present: "reasons <> '{}'", environments: true },
  erasure: { table: 'erasures', id: 'erasure_id', present: 'true' },
} as const satisfies Readonly<Record<string, Kind>>;
export type FoundKind = keyof typeof KINDS;
/** Kinds that are found by name. */
export const NAMED_KINDS = ['api_key', 'domain', 'template', 'template_alias', 'webhook', 'topic'] as const;

const nameOf = (kind: Kind): string => kind.name ?? 'null';
const within = ({ present, environments }: Kind): string =>
  `organization_id = $1 and ${present} and ${environments === true ? 'environment = any($2::text[])' : '$2::text[] is not null'}`;

const byId = (kind: Kind): string => `
  select ${kind.id} as id, ${nameOf(kind)} as name from read_models.${kind.table}
  where ${kind.id} = $3 and ${within(kind)}`;

/** The greatest character ends the range of all that begin with a text. */
const GREATEST = "U&'\\+10FFFF'";

const byName = (kind: Kind): string => {
  const lower = `lower((${nameOf(kind)}) collate "C")`;
  return `
  select ${kind.id} as id, ${nameOf(kind)} as name from read_models.${kind.table}
  where ${within(kind)} and ${lower} >= lower($3::text collate "C") and ${lower} < lower($3::text collate "C") || ${GREATEST}
  order by ${lower}
  limit $4`;
};

export interface Within {
  readonly organizationId: string;
  /** Environments of resources that have one. */
  readonly environments: readonly Environment[];
}

export const findById = async (
  db: Database,
  kind: FoundKind,
  { organizationId, environments, id }: Within & { readonly id: string },
): Promise<readonly FoundResource[]> => {
  const values = [organizationId, environments, id];
  return (await db.query<FoundResource>({ name: `find-${kind}-by-id`, text: byId(KINDS[kind]), values })).rows;
};

export const findByName = async (
  db: Database,
  kind: (typeof NAMED_KINDS)[number],
  { organizationId, environments, name, limit }: Within & { readonly name: string; readonly limit: number },
): Promise<readonly FoundResource[]> => {
  const values = [organizationId, environments, name, limit];
  return (await db.query<FoundResource>({ name: `find-${kind}-by-name`, text: byName(KINDS[kind]), values })).rows;
};

const NAMES_OF = {
  api_key: `select key_id as id, ${NAME} as name from read_models.api_keys where organization_id = $1 and key_id = any($2)`,
  domain: `select domain_id as id, ${NAME} as name from read_models.domains where organization_id = $1 and domain_id = any($2)`,
  template: `
    select template_id as id, ${NAME} as name from read_models.templates
    where organization_id = $1 and template_id = any($2)`,
  webhook: `
    select webhook_id as id, split_part(state->>'url', '//', 2) as name from read_models.webhooks
    where organization_id = $1 and webhook_id = any($2)`,
  topic: `select topic_id as id, ${NAME} as name from read_models.topics where organization_id = $1 and topic_id = any($2)`,
} as const;

/** Names of resources of an organization by id, deleted ones included. */
export const namesOfResources = async (
  db: Database,
  {
    organizationId,
    kind,
    ids,
  }: { readonly organizationId: string; readonly kind: keyof typeof NAMES_OF; readonly ids: readonly string[] },
): Promise<readonly FoundResource[]> =>
  (await db.query<FoundResource>({ name: `names-of-${kind}`, text: NAMES_OF[kind], values: [organizationId, ids] }))
    .rows;

/** Newest keys whose names are compared. Higher: a search of an organization with more keys takes longer. */
const KEYS_COMPARED_MAX = 10_000;
/** Higher: a word that is in every name makes a large query. Lower: it misses older keys. */
const KEYS_NAMED_MAX = 200;

const KEYS_NAMED = `
  select id, name from (
    select key_id as id, ${NAME} as name, created_at from read_models.api_keys
    where organization_id = $1
    order by created_at desc, key_id desc
    limit ${KEYS_COMPARED_MAX}) k
  where strpos(lower(name), lower($2)) > 0
  order by created_at desc, id desc
  limit ${KEYS_NAMED_MAX}`;

/** Keys with a text in their names, deleted ones included. */
export const keysNamed = async (
  db: Database,
  { organizationId, text }: { readonly organizationId: string; readonly text: string },
): Promise<readonly string[]> =>
  (await db.query<FoundResource>({ name: 'keys-named', text: KEYS_NAMED, values: [organizationId, text] })).rows.map(
    ({ id }) => id,
  );

const MESSAGE = `
  select message_id as id, content_id as "contentId", status, partial, c.recipients, c.delivered, c.bounced
  from read_models.messages cross join lateral (
    select count(*)::integer as recipients,
      (count(*) filter (where r->>'status' = 'delivered'))::integer as delivered,
      (count(*) filter (where r->>'status' = 'bounced'))::integer as bounced
    from json_array_elements(messages.recipients) r
  ) c
  where message_id = $3 and organization_id = $1 and environment = any($2::text[])
    and ($4::text is null or domain_id = $4)`;

export interface FoundMessage {
  readonly id: string;
  readonly contentId: string;
  readonly status: RecipientStatus;
  /** True if only some recipients have it. */
  readonly partial: boolean;
  /** How many recipients there are, and how many of these ended so. */
  readonly recipients: number;
  readonly delivered: number;
  readonly bounced: number;
}

/** @param domainId the only domain whose messages are found; null: all. */
export const findMessage = async (
  db: Database,
  { organizationId, environments, id, domainId }: Within & { readonly id: string; readonly domainId: string | null },
): Promise<FoundMessage | undefined> => {
  const values = [organizationId, environments, id, domainId];
  return (await db.query<FoundMessage>({ name: 'find-message', text: MESSAGE, values })).rows[0];
};

/** Higher finds an event among more that happened about the same time, and reads longer. */
const EVENTS_MAX = 20_000;

const EVENT = `
  select e.type, e.subject_id as "subjectId" from unnest($2::text[]) f(environment)
  cross join lateral (
    select c.type, c.subject_id, c.event_id, c.domain_id from read_models.customer_events c
    where c.organization_id = $1 and c.environment = f.environment and c.position >= $3
    order by c.position, c.item
    limit ${EVENTS_MAX}
  ) e
  where e.event_id = $4 and ($5::text is null or e.domain_id = $5)
  limit 1`;

export interface FindEvent extends Within {
  readonly id: string;
  /** A place before it: `placeAt` the time in its id. */
  readonly from: string;
  readonly domainId: string | null;
}

export const findEvent = async (
  db: Database,
  { organizationId, environments, id, from, domainId }: FindEvent,
): Promise<{ readonly type: string; readonly subjectId: string } | undefined> => {
  const values = [organizationId, [...environments, BOTH_ENVIRONMENTS], from, id, domainId];
  const { rows } = await db.query<{ type: string; subjectId: string }>({ name: 'find-event', text: EVENT, values });
  return rows[0];
};

const TAG_DAYS = 7;
const TAGS_MAX = 200;

/** The newest first: a day has a hundred at most. */
const RECENT_TAGS = `
  select distinct content_id as id from (
    select content_id from read_models.stats_tags
    where organization_id = $1 and environment = any($2::text[]) and day > current_date - ${TAG_DAYS}
    order by day desc
    limit ${TAGS_MAX}) t`;

/** Ids of contents that name the tags of the last days. */
export const recentTagContents = async (
  db: Database,
  { organizationId, environments }: Within,
): Promise<readonly string[]> => {
  const values = [organizationId, environments];
  const { rows } = await db.query<{ id: string }>({ name: 'recent-tags', text: RECENT_TAGS, values });
  return rows.map(({ id }) => id);
};
