import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Origin } from '../commands/execute.ts';
import { type NoteReading, noteListReading, noteReading } from '../commands/reading.ts';
import type { HttpDependencies } from './dependencies.ts';
import { keepOrigin } from './request-origin.ts';
import type { GuardedRouteName } from './route-table.ts';

/**
 * Puts on record who was shown personal data. The event names the client by `originId`: its address and user agent are in the
 * vault, which removes them, and the log never does. Contents are recorded at each reading. Lists and pages that show
 * addresses are requested all the time, so one event stands for a principal, a route and a minute.
 */

interface ReadingCall {
  readonly origin: Origin;
  readonly request: FastifyRequest;
}

type ReadingDependencies = Pick<HttpDependencies, 'requestOrigins' | 'context'>;

const originKept =
  (deps: ReadingDependencies, { origin, request }: ReadingCall) =>
  (): Promise<Origin> =>
    origin.originId === undefined ? keepOrigin(deps, origin, request) : Promise.resolve(origin);

/** Records a reading of contents, before they are shown. */
export const recordReading = (deps: ReadingDependencies, call: ReadingCall, reading: NoteReading): Promise<void> =>
  noteReading(deps.context, originKept(deps, call), reading);

/**
 * Readings of this minute, about 2 MB. One that was evicted is attempted again, and the log refuses it; so an organization with
 * many keys costs others an append, and nothing is recorded twice.
 */
const REMEMBERED_MAX = 20_000;

/** An address contains an `@`. A stream shows its contents later. */
const mayShowAddresses = (body: unknown): boolean =>
  body instanceof Readable || (JSON.stringify(body) ?? '').includes('@');

export interface ListReadings {
  /** Records that a response shows addresses, if it does. */
  record(call: ReadingCall, route: GuardedRouteName, body: unknown): Promise<void>;
}

export const createListReadings = (deps: ReadingDependencies): ListReadings => {
  const recorded = new LRUCache<string, true>({ max: REMEMBERED_MAX });
  return {
    record: async (call, route, body) => {
      const { actor, organizationId, environment } = call.origin;
      const minute = deps.context.system.now().toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length);
      const id = [organizationId, environment, actor, route, minute].join('\n');
      if (recorded.has(id) || !mayShowAddresses(body)) return;
      await noteListReading(deps.context, originKept(deps, call), { id, route });
      recorded.set(id, true);
    },
  };
};
