import type { Pool, PoolClient } from 'pg';
import { type EventStore, LOG_START, type Page, type Position } from '../domain/kernel/event-store.ts';
import { applyBatch, type Target } from './batch.ts';
import type { ReadModelSchema } from './database.ts';
import type { Projection } from './projection.ts';
import { withConnection } from './session.ts';

/**
 * Builds read models from the log in parallel to the live ones, for a rebuild or a replay. The log is read once for all of
 * them, and each applies its pages on a connection of its own, with one transaction per page.
 */

/** Events per transaction of a rebuild. Higher costs memory, lower costs commits. */
const REBUILD_EVENTS_MAX = 5_000;
/** The same for large events: bytes of data in a page. */
const REBUILD_BYTES_MAX = 16_000_000;
/** Pages by which reading may lead the slowest read model. Higher costs memory, lower leaves processors idle. */
const PAGES_AHEAD = 3;

/** Source of the events for the builds. */
export interface Source {
  readonly store: Pick<EventStore, 'readAll' | 'head'>;
  /** Ends the reading between two batches. */
  readonly signal?: AbortSignal;
}

/** A read model that is made, and how far it is. */
export interface Build {
  readonly target: Target & { readonly client: PoolClient };
  position: Position;
  parkedEvents: number;
}

/** Runs in parallel, each on its connection; returns when all have ended. @throws the first error. */
export const allOf = async (
  builds: readonly Build[],
  work: (target: Build['target']) => Promise<void>,
): Promise<void> => {
  const ended = await Promise.allSettled(builds.map(({ target }) => work(target)));
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
};

export const applyTo = async (build: Build, page: Page): Promise<void> => {
  const batch = { after: build.position, position: page.position, events: page.events };
  const parked = await applyBatch(build.target, batch);
  build.parkedEvents += parked.length;
  build.position = page.position;
};

/** Each build applies page after page without waiting for the others. An error ends all after the current batch. */
const createLanes = (builds: readonly Build[], signal: AbortSignal | undefined) => {
  const failed = new AbortController();
  const applyNext = async (build: Build, before: Promise<void>, page: Page): Promise<void> => {
    await before;
    signal?.throwIfAborted();
    failed.signal.throwIfAborted();
    try {
      await applyTo(build, page);
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  };
  let lanes = builds.map((build) => ({ build, last: Promise.resolve() }));
  return {
    /** Resolves when all have applied this page. */
    apply: (page: Page): Promise<unknown> => {
      lanes = lanes.map(({ build, last }) => ({ build, last: applyNext(build, last, page) }));
      return Promise.all(lanes.map(({ last }) => last));
    },
    /** Resolves when all are idle. */
    end: (): Promise<unknown> => Promise.allSettled(lanes.map(({ last }) => last)),
  };
};

/** The next read: the head of the log at its start, and the page after a position that all builds have reached. */
export interface SourceRead {
  readonly head: Promise<Position>;
  page: Promise<Page>;
}

const readPage = ({ store }: Source, builds: readonly Build[], from: Position): Promise<Page> => {
  const categories = [...new Set(builds.flatMap(({ target }) => target.projection.categories))];
  const bounds = { limit: REBUILD_EVENTS_MAX, bytesMax: REBUILD_BYTES_MAX };
  const page = store.readAll({ from, filter: { categories }, ...bounds });
  page.catch(() => {}); // thrown when awaited
  return page;
};

export const beginReading = (options: Source, builds: readonly Build[]): SourceRead => {
  const head = options.store.head();
  head.catch(() => {}); // thrown when awaited
  return { head, page: readPage(options, builds, builds[0]?.position ?? LOG_START) };
};

/**
 * Reads the log from the builds' common position to its head. Each page is read while those before it are applied, so that
 * a log far away costs little time. @returns events read.
 */
export const catchUp = async (
  options: Source,
  builds: readonly Build[],
  reading: SourceRead = beginReading(options, builds),
): Promise<number> => {
  const { signal } = options;
  const lanes = createLanes(builds, signal);
  const pages: Promise<unknown>[] = [];
  let count = 0;
  try {
    for (let isRead = false; !isRead; ) {
      signal?.throwIfAborted();
      const page = await reading.page;
      isRead = page.position >= (await reading.head);
      if (!isRead) reading.page = readPage(options, builds, page.position);
      const applied = lanes.apply(page);
      applied.catch(() => {}); // thrown when awaited
      pages.push(applied);
      count += page.events.length;
      if (pages.length > PAGES_AHEAD) await pages.shift();
    }
    await Promise.all(pages);
    return count;
  } finally {
    await lanes.end();
  }
};

/** Target of a build. */
interface Place {
  readonly pool: Pool;
  readonly schema: ReadModelSchema;
  readonly logId: string;
}

/** Gives `work` a build of each projection, none of which has read anything. One connection for each, all held to the end. */
export const withBuilds = async <T>(
  place: Place,
  projections: readonly Projection[],
  work: (builds: readonly Build[]) => Promise<T>,
  builds: readonly Build[] = [],
): Promise<T> => {
  const [projection, ...rest] = projections;
  if (projection === undefined) return work(builds);
  return withConnection(place.pool, (client) => {
    const target = { client, projection, schema: place.schema, logId: place.logId };
    return withBuilds(place, rest, work, [...builds, { target, position: LOG_START, parkedEvents: 0 }]);
  });
};
