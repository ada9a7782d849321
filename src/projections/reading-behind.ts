import { type EventStore, LOG_START, type Page, type Position } from '../domain/kernel/event-store.ts';
import { pause, type System } from '../lib/async/async.ts';

/** Events of a page. Larger holds more memory, smaller costs transactions. */
const PAGE_EVENTS_MAX = 4000;
/** The same for large events, and the memory of a consumer that reads alone. */
export const PAGE_BYTES_MAX = 8_000_000;
/** Pages by which the fastest reader may lead the slowest. Higher: memory. Lower: idle processors. */
const PAGES_KEPT_MAX = 3;
/** A reader that finds this many events is far behind. It waits for others that are, and reading starts at the slowest. */
const GATHERING_EVENTS_MIN = 1000;
const GATHER_MS = 500;
/** Longest wait for a slower reader. */
const PATIENCE_MS = 5_000;
/** After a time-out, a reader reads alone and does not wait again for this long. */
const ALONE_MS = 60_000;
/** A reader that is fewer pages behind catches up in a moment, so it does not wait for the others. */
const WAITING_PAGES_MIN = 3;
/** Interval at which a waiting reader looks again. */
const LOOK_AGAIN_MS = 10;

interface Reader {
  /** Asked for, then the end of the page that it has. */
  position: Position;
  sinceMs: number;
  isAsking: boolean;
  /** Asked for in a row; 0: it reads elsewhere. */
  pages: number;
  /** When it last gave up on the others. */
  aloneMs: number;
}

interface KeptPage extends Page {
  readonly after: Position;
}

export interface ReadingBehindOptions {
  readonly store: Pick<EventStore, 'readAll'>;
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
  /** Ends the waiting for others. */
  readonly signal: AbortSignal;
}

export interface ReadingBehind {
  /** Events after a position, without a filter; null: the other readers are elsewhere, so the caller reads alone. */
  read(name: string, after: Position): Promise<Page | null>;
  /** Removes a reader, so that the others do not wait for it. */
  leave(name: string): void;
}

/**
 * Consumers that are far behind the head of the log read it together: a page is fetched and decoded once, and kept until
 * the slowest has read it. Otherwise sixteen projections would read and decode the whole log sixteen times.
 */
export const createReadingBehind = ({ store, system, signal }: ReadingBehindOptions): ReadingBehind => {
  const { monotonicMs } = system;
  const readers = new Map<string, Reader>();
  /** Consecutive pages. */
  let kept: KeptPage[] = [];
  /** Position of the last page. */
  let end: Position = LOG_START;
  let pulling: Promise<void> | undefined;

  const isPatient = ({ sinceMs }: Reader): boolean => monotonicMs() - sinceMs < PATIENCE_MS;
  const start = (): Position => kept[0]?.after ?? end;
  const isHere = ({ position }: Reader): boolean => position >= start() && position <= end;
  const lookAgain = (): Promise<void> => pause(system, LOOK_AGAIN_MS, signal);

  const beginAt = (position: Position): void => {
    kept = [];
    end = position;
  };

  const isReading = (reader: Reader): boolean => reader.pages > 0 && isHere(reader) && isPatient(reader);
  const isUsed = (): boolean => [...readers.values()].some(isReading);

  /** True for a reader that still needs the page that would be dropped. */
  const isSlower = (reader: Reader, dropped: Position): boolean =>
    isReading(reader) && !reader.isAsking && reader.position < dropped;

  const isFull = (): boolean => {
    const dropped = kept.at(-PAGES_KEPT_MAX);
    return dropped !== undefined && [...readers.values()].some((reader) => isSlower(reader, dropped.position));
  };

  const readOn = (): Promise<Page> =>
    store.readAll({ from: end, limit: PAGE_EVENTS_MAX, bytesMax: PAGE_BYTES_MAX, signal });

  /** The first page, from where the slowest is. */
  const gather = async (page: Page): Promise<Page> => {
    if (page.events.length < GATHERING_EVENTS_MIN) return page;
    await pause(system, GATHER_MS, signal);
    const asked = [...readers.values()].filter(({ isAsking }) => isAsking).map(({ position }) => position);
    const slowest = asked.reduce((least, position) => (position < least ? position : least), end);
    if (slowest === end) return page;
    const first = end;
    beginAt(slowest);
    return readOn().catch(() => {
      beginAt(first); // who is slowest will see by itself
      return page;
    });
  };

  const keep = (page: Page): void => {
    if (page.position <= end) return;
    kept.push({ ...page, after: end });
    end = page.position;
    if (kept.length > PAGES_KEPT_MAX) kept.shift();
  };

  const pull = async (): Promise<void> => {
    while (isFull() && !signal.aborted) await lookAgain();
    const page = await readOn();
    keep(kept.length === 0 ? await gather(page) : page);
  };

  const pullShared = (): Promise<void> => {
    pulling ??= pull().finally(() => {
      pulling = undefined;
    });
    return pulling;
  };

  /** True if no reader uses the kept pages, so that reading restarts at this reader's position. */
  const isForsaken = (own: Reader): boolean => pulling === undefined && !isHere(own) && !isUsed();

  const take = (reader: Reader): Page | null => {
    const after = reader.position;
    const page = kept.find(({ position }) => position > after);
    if (page === undefined || page.after > after) return null;
    Object.assign(reader, { position: page.position, sinceMs: monotonicMs() });
    if (after === page.after) return page;
    return { events: page.events.filter(({ position }) => position > after), position: page.position };
  };

  /** Waits for the shared read and ignores its faults, which the other readers report. */
  const pulled = (): Promise<void> => pulling?.catch(() => undefined) ?? lookAgain();

  /** Waits until the others have reached this reader's position. */
  const awaitOthers = async (reader: Reader): Promise<void> => {
    if (reader.pages < WAITING_PAGES_MIN || monotonicMs() - reader.aloneMs < ALONE_MS) return;
    while (reader.position > end && isPatient(reader) && !signal.aborted) await pulled();
    if (reader.position > end) reader.aloneMs = monotonicMs();
  };

  const meetOthers = async (reader: Reader): Promise<void> => {
    // The start of the shared pages is not known yet.
    if (reader.position < end && kept.length === 0) await pulled();
    if (reader.position > end) await awaitOthers(reader);
  };

  const nextPage = async (reader: Reader): Promise<Page | null> => {
    const before = end;
    if (reader.position === end) await pullShared();
    return take(reader) ?? (end === before ? null : pageFor(reader));
  };

  const pageFor = async (reader: Reader): Promise<Page | null> => {
    if (isForsaken(reader)) beginAt(reader.position);
    if (!isHere(reader)) await meetOthers(reader);
    return isHere(reader) ? nextPage(reader) : null;
  };

  return {
    read: async (name, after) => {
      const { pages = 0, aloneMs = Number.NEGATIVE_INFINITY } = readers.get(name) ?? {};
      const reader = { position: after, sinceMs: monotonicMs(), isAsking: true, pages: pages + 1, aloneMs };
      readers.set(name, reader);
      try {
        return await pageFor(reader);
      } catch (fault) {
        reader.pages = 0; // until it asks again
        throw fault;
      } finally {
        reader.isAsking = false;
      }
    },
    leave: (name) => {
      const reader = readers.get(name);
      if (reader !== undefined) reader.pages = 0;
      if (kept.length > 0 && pulling === undefined && !isUsed()) kept = [];
    },
  };
};
