import { z } from 'zod';
import type { Caller } from '../domain/api-key/key-authority.ts';
import { parseLeaf } from '../domain/audit/leaf.ts';
import { DomainError } from '../domain/domain-error.ts';
import {
  type EventStore,
  LOG_START,
  type Position,
  READ_STREAM_LIMIT,
  type StreamName,
} from '../domain/ports/event-store.ts';
import { TILE_WIDTH } from '../projections/audit/tiles.ts';
import { readYourWrites } from './consistency.ts';
import type { HttpDependencies } from './dependencies.ts';
import { type Call, type Definition, endpoint, type Registration, type RouteContext } from './endpoint.ts';
import type { GuardedRouteName } from './route-table.ts';
import { timeSchema } from './schemas/envelope.ts';
import { parseTime } from './validation/fields.ts';

/** Resources as they were: the same rules, folded from the events up to a moment of the log. */

const LEAF = /^leaf:(0|[1-9]\d{0,14})$/;

const atParameter = () =>
  z
    .string()
    .refine(
      (text) => LEAF.test(text) || parseTime(text) !== null,
      'must be a time in ISO 8601, 2026-01-31T12:00:00Z, or leaf:<leaf_index of an audit entry>',
    )
    .optional()
    .describe(
      'As it was: at a time, or right after an event of the audit log (`leaf:<leaf_index>`). Contents are those that are kept now.',
    );

const asOfSchema = z.strictObject({
  time: timeSchema().describe('Of the last event up to then.'),
  leaf_index: z.number().int().describe('Of that event in the audit log.'),
});

/** A moment: everything up to a leaf of an organization's tree. */
interface Moment {
  readonly position: Position;
  readonly time: string;
  readonly leafIndex: number;
}

const invalid = (problem: string): DomainError =>
  new DomainError('invalid_request', problem, { details: { at: [problem] } });

/** How many leaves there were. @throws {DomainError} `invalid_request`: at what the log does not hold. */
const leavesAt = async ({ readModels, context }: HttpDependencies, tree: string, at: string): Promise<number> => {
  const leaf = LEAF.exec(at)?.[1];
  if (leaf !== undefined) {
    const size = await readModels.audit.size(tree);
    if (Number(leaf) >= size) throw invalid(`at must be below leaf:${size}: there are no more yet`);
    return Number(leaf) + 1;
  }
  const time = parseTime(at) ?? '';
  if (time > context.system.now().toISOString()) throw invalid('at must not be in the future');
  return readModels.audit.sizeAt(tree, time);
};

/** @throws {DomainError} `invalid_request`; `not_found`: nothing was there yet. */
const momentOf = async ({ deps }: RouteContext, { organizationId: tree }: Caller, at: string): Promise<Moment> => {
  await readYourWrites(deps, ['audit']);
  const leafIndex = (await leavesAt(deps, tree, at)) - 1;
  if (leafIndex < 0) throw new DomainError('not_found', 'nothing was there yet at that time');
  const bundle = Math.floor(leafIndex / TILE_WIDTH);
  const leaves = await deps.readModels.audit.leaves(tree, bundle, bundle + 1);
  const { stream, revision, metadata } = parseLeaf(leaves[leafIndex % TILE_WIDTH] ?? '');
  const [event] = await deps.context.store.readStream(stream as StreamName, { from: revision, limit: 1 });
  return { position: event?.position ?? LOG_START, time: metadata.occurredAt, leafIndex };
};

/** The log, of which streams end at a position. */
const storeUpTo = (store: EventStore, position: Position): EventStore => ({
  ...store,
  readStream: async (stream, { from = 0, limit = READ_STREAM_LIMIT } = {}) => {
    const events = await store.readStream(stream, { from, limit });
    return events.filter((event) => event.position <= position);
  },
});

/** Whether the resource is read as it was. */
interface AsOf {
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
  handle: (call: Call<unknown, unknown> & AsOf, route: RouteContext) => Promise<object>,
): Registration =>
  endpoint(
    name,
    {
      ...definition,
      query: z.strictObject({ at: atParameter() }),
      answer: answer.extend({ as_of: asOfSchema.optional().describe('Of a request with `at`.') }),
    },
    async (call, route) => {
      const { at } = call.query;
      if (at === undefined) return handle({ ...call, isPast: false }, route);
      const { position, time, leafIndex } = await momentOf(route, call.caller, at);
      const { context } = route.deps;
      const then = {
        ...context,
        store: storeUpTo(context.store, position),
        system: { ...context.system, now: () => new Date(LEAF.test(at) ? time : (parseTime(at) ?? time)) },
      };
      const past = await handle({ ...call, isPast: true }, { ...route, deps: { ...route.deps, context: then } });
      return { ...past, as_of: { time, leaf_index: leafIndex } };
    },
  );
