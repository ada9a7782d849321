import { z } from 'zod';
import type { CommandContext } from '../commands/context.ts';
import { load } from '../commands/execute.ts';
import type { Caller } from '../domain/api-key/key-authority.ts';
import { leafIn, parseLeaf } from '../domain/audit/leaf.ts';
import type { Aggregate } from '../domain/kernel/aggregate.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import {
  type EventStore,
  LOG_START,
  type Position,
  READ_STREAM_LIMIT,
  type StreamName,
} from '../domain/kernel/event-store.ts';
import type { OutboxEvent } from '../domain/kernel/events.ts';
import { mapConcurrently } from '../lib/async/async.ts';
import { TILE_WIDTH } from '../projections/audit/tiles.ts';
import { readYourWrites } from './consistency.ts';
import type { HttpDependencies } from './dependencies.ts';
import { type Call, type Definition, endpoint, type Registration, type RouteContext } from './endpoint.ts';
import type { GuardedRouteName } from './route-table.ts';
import { type AsOf, asOfFields } from './schemas/envelope.ts';
import { parseTime } from './validation/fields.ts';
import { endOfDay, isDate, startOfDay } from './validation/zoned-dates.ts';

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
      'State at a time, at the end of a day (`2026-01-31`, in the organization’s time zone), or right after an event of the audit log (`leaf:<leaf_index>`). Contents that have been removed since are missing.',
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
    if (leaf >= size) throw invalid(`at must be below leaf:${size}: there are no more yet`);
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
  const { stream, revision, metadata } = parseLeaf(leaves[last] ?? '');
  const times = leaves.slice(0, last + 1).map((leaf) => parseLeaf(leaf).metadata.occurredAt);
  const earlier = await deps.readModels.audit.latestUpTo(tree, bundle - 1);
  const latest = times.reduce((most, time) => (time > most ? time : most), earlier);
  const [event] = await deps.context.store.readStream(stream as StreamName, { from: revision, limit: 1 });
  return { position: event?.position ?? LOG_START, time: metadata.occurredAt, leafIndex, latest };
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
export interface PastRoute {
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
      if (past === null) throw new DomainError('not_found', 'nothing was there yet at that time');
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
