import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type CommandContext, type Condition, load } from '../commands/execute.ts';
import type { Caller } from '../domain/api-key/caller.ts';
import { leafIn, parseLeaf } from '../domain/audit/leaf.ts';
import type { Aggregate } from '../domain/kernel/aggregate.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import {
  type EventStore,
  type Position,
  READ_STREAM_LIMIT,
  type Revision,
  type StreamName,
} from '../domain/kernel/event-store.ts';
import type { OutboxEvent } from '../domain/kernel/events.ts';
import { mapConcurrently } from '../lib/async/async.ts';
import type { ListCursor, ListPage } from '../lib/projections/projections.ts';
import { TILE_WIDTH } from '../projections/audit/tiles.ts';
import type { ProjectionName } from '../projections/projection.ts';
import { eventOfLeaf } from './compare-leaves.ts';
import type { HttpDependencies } from './dependencies.ts';
import {
  type Call,
  type Definition,
  endpoint,
  type Registration,
  type RouteContext,
  type RouteDescription,
} from './endpoint.ts';
import {
  type AsOf,
  asOfFields,
  completeUntilField,
  consistencyParameter,
  endOfDay,
  isDate,
  listOf,
  listSchema,
  pageParameters,
  parseTime,
  startOfDay,
  timeOf,
} from './fields.ts';
import type { GuardedRouteName } from './route-table.ts';

/**
 * Reads of resources: up to date (`readYourWrites`), only if they are unchanged (`ifMatch`), as they were (`?at=`), and in
 * pages (`listEndpoint`).
 */

/** Revisions fit a double exactly, without leading zeros. */
const ETAG = /^"(0|[1-9]\d{0,14})"$/;

/** Sets the `ETag` of a resource: the revision of its stream. */
export const setRevision = (reply: FastifyReply, revision: Revision | 'no-stream'): void => {
  reply.header('etag', `"${revision}"`);
};

/** Condition that `If-Match` puts on a change (RFC 9110 §13.1.1). An entity tag of another form matches no revision. */
export const ifMatch = ({ headers }: FastifyRequest): Condition => {
  const wanted = headers['if-match'];
  if (wanted === undefined || wanted.trim() === '*') return {};
  const tags = wanted.split(',').map((one) => ETAG.exec(one.trim())?.[1]);
  return { atRevisions: tags.filter((one) => one !== undefined).map(Number) };
};

type Readers = Pick<HttpDependencies, 'context' | 'readModels'>;

const RETRY_AFTER_SECONDS = 2;

/** Whole seconds; 0: it is not known. */
const secondsBehind = async (
  { readModels }: Pick<HttpDependencies, 'readModels'>,
  names: readonly string[],
): Promise<number> => {
  const models = await readModels.lag().catch(() => []); // the answer is 503 as well
  return Math.ceil(Math.max(0, ...models.filter(({ name }) => names.includes(name)).map(({ seconds }) => seconds)));
};

/**
 * Read your writes: waits until the read models have applied everything in the log at the time of the call.
 * @returns the head of the log at that time.
 * @throws {DomainError} `unavailable` after 2 s.
 */
export const readYourWrites = async (
  { context, readModels }: Readers,
  names: readonly ProjectionName[],
): Promise<Position> => {
  const head = await context.store.head();
  if (await readModels.waitFor(names, head)) return head;
  const seconds = await secondsBehind({ readModels }, names);
  const why = seconds === 0 ? 'is not up to date at the moment' : `is ${seconds} s behind what happened`;
  throw new DomainError('unavailable', `this list ${why}`, { retryAfterSeconds: RETRY_AFTER_SECONDS });
};

/** Longer: such reads take as long while read models are rebuilt. Shorter: on a busy machine they miss what was just written. */
const RECENT_WAIT_MS = 500;

/** Hurries read models, for reads that may miss what was just written. If they are away, the read that follows fails. */
export const readRecent = async ({ context, readModels }: Readers, names: readonly ProjectionName[]): Promise<void> => {
  const head = await context.store.head();
  await readModels.waitFor(names, head, { timeoutMs: RECENT_WAIT_MS }).catch(() => undefined);
};

/** Fields by which a list says that it is incomplete; none: it is not. */
export interface Completeness {
  readonly complete_until?: string;
}

/**
 * Read your writes, as far as possible: a read model that lags, as while it is rebuilt, is read as it is. For lists on
 * which nothing is decided.
 * @throws {DomainError} `unavailable` after 2 s, if the request is strict or the read model has nothing yet.
 */
export const readWhatIs = async (
  deps: Readers,
  names: readonly ProjectionName[],
  consistency?: 'strict',
): Promise<Completeness> => {
  try {
    await readYourWrites(deps, names);
    return {};
  } catch (error) {
    if (consistency === 'strict' || !(error instanceof DomainError)) throw error;
    const completeUntil = await deps.readModels.completeUntil(names);
    if (completeUntil === null) throw error;
    return { complete_until: completeUntil };
  }
};

/** Resources as they were: the same rules, folded from the events up to a moment of the log. */

export const atParameter = () =>
  z
    .string()
    .refine(
      (text) => leafIn(text) !== null || parseTime(text) !== null,
      'must be a time in ISO 8601, 2026-01-31T12:00:00Z, or leaf:<leaf_index of an audit entry>',
    )
    .optional()
    .describe(
      'Returns the state at this time, at the end of this day (`2026-01-31`, in the time zone of the organization), or right after this event of the audit log (`leaf:<leaf_index>`). Contents that were removed later are missing.',
    );

/** A moment: everything up to a leaf of an organization's tree. */
interface Moment {
  readonly position: Position;
  readonly time: string;
  readonly leafIndex: number;
  /** The latest time of an event up to then: clocks differ, so it may be later than that of the last one. */
  readonly latest: string;
}

const invalid = (problem: string): DomainError =>
  new DomainError('invalid_request', problem, { details: { at: [problem] } });

/** How many leaves there were. @throws {DomainError} `invalid_request`: at what the log does not hold. */
const leavesAt = async ({ readModels, context }: HttpDependencies, tree: string, at: string): Promise<number> => {
  const leaf = leafIn(at);
  if (leaf !== null) {
    const size = await readModels.audit.size(tree);
    if (leaf >= size) throw invalid(`at must be below leaf:${size}: the audit log has ${size} entries so far`);
    return leaf + 1;
  }
  const time = parseTime(at) ?? '';
  if (time > context.system.now().toISOString()) throw invalid('at must not be in the future');
  return readModels.audit.sizeAt(tree, time);
};

/** @returns null: nothing was there yet. @throws {DomainError} `invalid_request`. */
const momentOf = async (
  { deps }: RouteContext,
  { organizationId: tree }: Caller,
  at: string,
): Promise<Moment | null> => {
  await readYourWrites(deps, ['audit']);
  const leafIndex = (await leavesAt(deps, tree, at)) - 1;
  if (leafIndex < 0) return null;
  const bundle = Math.floor(leafIndex / TILE_WIDTH);
  const leaves = await deps.readModels.audit.leaves(tree, bundle, bundle + 1);
  const last = leafIndex % TILE_WIDTH;
  const parsed = parseLeaf(leaves[last] ?? '');
  const times = leaves.slice(0, last + 1).map((leaf) => parseLeaf(leaf).metadata.occurredAt);
  const earlier = await deps.readModels.audit.latestUpTo(tree, bundle - 1);
  const latest = times.reduce((most, time) => (time > most ? time : most), earlier);
  const { position, metadata } = await eventOfLeaf(deps.context, { index: leafIndex, parsed });
  return { position, time: metadata.occurredAt, leafIndex, latest };
};

/** The log, of which streams end at a position. */
const storeUpTo = (store: EventStore, position: Position): EventStore => ({
  ...store,
  readStream: async (stream, { from = 0, limit = READ_STREAM_LIMIT } = {}) => {
    const events = await store.readStream(stream, { from, limit });
    return events.filter((event) => event.position <= position);
  },
});

/** A route that reads the log as it was. */
interface PastRoute {
  /** Its streams end at the moment, and its time is that. */
  readonly route: RouteContext;
  readonly asOf: AsOf;
  /** No event up to then is later: what was made later was not there. */
  readonly latest: string;
}

/** A date means the end of that day in the time zone of the organization; today means now. */
const timeAsked = ({ deps, auth }: RouteContext, { organizationId }: Caller, at: string): string => {
  if (!isDate(at)) return at;
  const { timezone } = auth.keyCache.settingsOf(organizationId);
  const now = deps.context.system.now().toISOString();
  const end = endOfDay(at, timezone);
  return startOfDay(at, timezone) <= now && end > now ? now : end;
};

/** @returns undefined: `at` is absent; null: before the first event. @throws {DomainError} `invalid_request`. */
export const routeAsOf = async (
  route: RouteContext,
  caller: Caller,
  asked: string | undefined,
): Promise<PastRoute | null | undefined> => {
  if (asked === undefined) return undefined;
  const at = timeAsked(route, caller, asked);
  const moment = await momentOf(route, caller, at);
  if (moment === null) return null;
  const { position, time, leafIndex, latest } = moment;
  const { context } = route.deps;
  const then = {
    ...context,
    store: storeUpTo(context.store, position),
    system: { ...context.system, now: () => new Date(parseTime(at) ?? time) },
  };
  return {
    route: { ...route, deps: { ...route.deps, context: then } },
    asOf: { time, leaf_index: leafIndex },
    latest,
  };
};

/** Whether the resource is read as it was. */
interface Tense {
  readonly isPast: boolean;
}

type Reading = Omit<Definition<z.ZodType, z.ZodType>, 'query' | 'answer' | 'body' | 'examples'>;

/**
 * The route of one resource, also as it was (`?at=`). The handler reads streams from the log that it is given, and takes
 * the time from there.
 */
export const resourceEndpoint = (
  name: GuardedRouteName,
  { answer, ...definition }: Reading & { readonly answer: z.ZodObject },
  handle: (call: Call<unknown, unknown> & Tense, route: RouteContext) => Promise<object>,
): Registration =>
  endpoint(
    name,
    {
      ...definition,
      query: z.strictObject({ at: atParameter() }),
      answer: answer.extend(asOfFields()),
    },
    async (call, route) => {
      const past = await routeAsOf(route, call.caller, call.query.at);
      if (past === undefined) return handle({ ...call, isPast: false }, route);
      if (past === null) throw new DomainError('not_found', 'the organization did not exist at that time');
      return { ...(await handle({ ...call, isPast: true }, past.route)), as_of: past.asOf };
    },
  );

/** Streams read at once for a page. More takes connections from other requests, fewer makes it slower. */
const CONCURRENCY = 4;

/** States of these streams, without what did not exist then, or was deleted. */
export const statesOf = async <State extends { readonly status: string }, E extends OutboxEvent>(
  { store, system }: Pick<CommandContext, 'store' | 'system'>,
  aggregate: Aggregate<State, E>,
  streams: readonly StreamName[],
): Promise<readonly Exclude<State, { readonly status: 'absent' }>[]> => {
  const loaded = await mapConcurrently(streams, { system, concurrency: CONCURRENCY }, (stream) =>
    load(store, aggregate, stream),
  );
  return loaded
    .map(({ state }) => state)
    .filter(
      (state): state is Exclude<State, { readonly status: 'absent' }> =>
        state.status !== 'absent' && state.status !== 'deleted',
    );
};

/** Lists: their cursors, and the route of a list that is a read model. */

/** Separates the parts of a cursor; in none of them. */
const SEPARATOR = '\n';
const ID = /^[a-z]{3}_[a-z2-7]{26}$/;
/** Row numbers: 64 bits, from 1. */
const PLACE = /^[1-9]\d{0,17}$/;

/** @param field the parameter that it came in. */
export const invalidCursor = (field = 'after'): DomainError => {
  const problem = `${field} is not a cursor of this list`;
  return new DomainError('invalid_cursor', problem, { details: { [field]: [problem] } });
};

/** Encodes parts as an opaque cursor. */
export const encodeParts = (parts: readonly string[]): string =>
  Buffer.from(parts.join(SEPARATOR)).toString('base64url');

/** @throws {DomainError} `invalid_cursor` unless made by `encodeParts`. */
export const decodeParts = (cursor: string, count: number, field?: string): readonly string[] => {
  const parts = Buffer.from(cursor, 'base64url').toString().split(SEPARATOR);
  if (parts.length !== count || encodeParts(parts) !== cursor) throw invalidCursor(field);
  return parts;
};

/** @param list its name: a cursor is valid for its own list only. */
export const encodeCursor = (list: string, cursor: ListCursor | null): string | null =>
  cursor === null ? null : encodeParts([list, cursor.createdAt, cursor.id]);

/** @param ids form of the ids in the list. @throws {DomainError} `invalid_cursor`. */
export const decodeCursor = (list: string, text: string | undefined, ids = ID): ListCursor | null => {
  if (text === undefined) return null;
  const [name, createdAt = '', id = ''] = decodeParts(text, 3);
  if (name !== list || timeOf(Date.parse(createdAt)) !== createdAt || !ids.test(id)) throw invalidCursor();
  return { createdAt, id };
};

/**
 * Cursor of a list whose items are numbered.
 * @param list its name, with the id of its owner if there are several.
 */
export const encodePlace = (list: string, place: string | null): string | null =>
  place === null ? null : encodeParts([list, place]);

/** @throws {DomainError} `invalid_cursor`. */
export const decodePlace = (list: string, text: string | undefined): { readonly after?: string } => {
  if (text === undefined) return {};
  const [name, place = ''] = decodeParts(text, 2);
  if (name !== list || !PLACE.test(place)) throw invalidCursor();
  return { after: place };
};

/** The cursor of a list, or where what was made at a time begins, if that is later on. @param latest ISO 8601. */
export const cursorFrom = (after: ListCursor | null, latest: string): ListCursor => {
  const start = { createdAt: new Date(Date.parse(latest) + 1).toISOString(), id: '' };
  return after === null || after.createdAt > start.createdAt ? start : after;
};

/** A list read at a past moment may have another order, so its cursors have another name. */
const nameThen = (list: string, at: string | undefined): string => (at === undefined ? list : `${list}@`);

interface ListDefinition<Item extends z.ZodType, Filters extends z.ZodRawShape>
  extends Pick<RouteDescription, 'summary' | 'description'> {
  /** Its read model, which catches up with the log first. */
  readonly of: ProjectionName;
  readonly item: Item;
  /** Query parameters besides those of every list. */
  readonly filters?: Filters;
  /** Name of the list in its cursors. Default: that of the read model. */
  readonly list?: string;
  /** Whether the list can be read as it was (`?at=`). */
  readonly takesAt?: boolean;
  /** Form of the ids in the list. Default: ids of this service. */
  readonly ids?: RegExp;
  /** Customers decide by the list, so it is never incomplete. */
  readonly isStrict?: true;
}

type ListBy<Filters extends z.ZodRawShape> = z.output<z.ZodObject<Filters>> & {
  readonly limit: number;
  readonly after: ListCursor | null;
  /** The list is read at a past moment: it includes items deleted since, and the route reads streams up to the moment. */
  readonly withDeleted: boolean;
  /** Latest creation time of items in a list read at a past moment (ISO 8601); null: the current list. */
  readonly latest: string | null;
};

/** Parameters that some lists have. */
interface Sent {
  readonly at?: string;
  readonly consistency?: 'strict';
}

/**
 * The route of a newest-first list. As it was, a page may hold fewer items than its limit: those made or deleted since.
 * @param read the page of its read model, serialized.
 */
export const listEndpoint = <Item extends z.ZodType, const Filters extends z.ZodRawShape = Record<never, never>>(
  name: GuardedRouteName,
  { of, item, filters, list = of, ids, takesAt = false, isStrict, ...described }: ListDefinition<Item, Filters>,
  read: (by: ListBy<Filters>, caller: Caller, route: RouteContext) => Promise<ListPage<z.output<Item>>>,
): Registration => {
  const at = takesAt ? { at: atParameter() } : {};
  const consistency = isStrict === true ? {} : { consistency: consistencyParameter() };
  return endpoint(
    name,
    {
      ...described,
      query: z.strictObject({ ...pageParameters, ...filters, ...at, ...consistency }),
      answer: listSchema(item).extend({
        ...(isStrict === true ? {} : completeUntilField()),
        ...(takesAt ? asOfFields() : {}),
      }),
    },
    async ({ caller, query: { after: cursor, ...sent } }, route) => {
      const { at, consistency: wanted, ...asked } = sent as typeof sent & Sent;
      const named = nameThen(list, at);
      const after = decodeCursor(named, cursor, ids);
      const complete = await readWhatIs(route.deps, [of], isStrict === true ? 'strict' : wanted);
      const past = await routeAsOf(route, caller, at);
      if (past === null) return listOf([], false, null);
      const then = { withDeleted: past !== undefined, latest: past?.latest ?? null };
      const by = { ...asked, after, ...then } as unknown as ListBy<Filters>; // what the schema above has parsed
      const { items, hasMore, next } = await read(by, caller, past?.route ?? route);
      const page = { ...listOf(items, hasMore, encodeCursor(named, next)), ...complete };
      return past === undefined ? page : { ...page, as_of: past.asOf };
    },
  );
};
