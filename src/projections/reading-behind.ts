import { type EventStore, LOG_START, type Page, type Position } from '../domain/ports/event-store.ts';
import { pause, type System } from '../lib/async/async.ts';

/** Events of a page. Larger holds more memory, smaller costs transactions. */
const PAGE_EVENTS_MAX = 4000;
/** The same for large events; for a consumer that reads by itself, what it holds at once. */
export const PAGE_BYTES_MAX = 8_000_000;
/** Pages by which the first may lead the slowest. More costs memory, fewer leave processors idle. */
const PAGES_KEPT_MAX = 3;
/** Who finds so many events at once is far behind, and waits for others that are: the slowest is where reading begins. */
const GATHERING_EVENTS_MIN = 1000;
const GATHER_MS = 500;
/** The longest wait for one that is slower, and for the others where they are slower. */
const PATIENCE_MS = 5_000;
/** Who has waited for the others in vain reads by itself, and for so long does not wait again. */
const ALONE_MS = 60_000;
/** Who is behind for fewer pages is there in a moment, and does not wait for the others. */
const WAITING_PAGES_MIN = 3;
/** How often who waits looks again. */
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

interface Kept extends Page {
  readonly after: Position;
}

export interface ReadingBehindOptions {
  readonly store: Pick<EventStore, 'readAll'>;
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
  /** Ends the waiting for others. */
  readonly signal: AbortSignal;
}

export interface ReadingBehind {
  /** Events after a position, without a filter; null: the others are elsewhere, so it reads by itself. */
  read(name: string, after: Position): Promise<Page | null>;
  /** It reads here no more: nobody waits for it. */
  leave(name: string): void;
}

/**
 * Consumers that are far behind the head of the log read it together: a page is fetched and decoded once, and kept until
 * the slowest has taken it. Each by itself, sixteen projections would read and decode all of the log sixteen times.
 */
export const createReadingBehind = ({ store, system, signal }: ReadingBehindOptions): ReadingBehind => {
  const { monotonicMs } = system;
  const readers = new Map<string, Reader>();
  /** Consecutive pages. */
  let kept: Kept[] = [];
  /** Of the last one. */
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

  /** Whose page is before the one that would be dropped, and who has yet to take that. */
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

  /** Where nobody is, reading begins anew where this one is. */
  const isForsaken = (own: Reader): boolean => pulling === undefined && !isHere(own) && !isUsed();

  const take = (reader: Reader): Page | null => {
    const after = reader.position;
    const page = kept.find(({ position }) => position > after);
    if (page === undefined || page.after > after) return null;
    Object.assign(reader, { position: page.position, sinceMs: monotonicMs() });
    if (after === page.after) return page;
    return { events: page.events.filter(({ position }) => position > after), position: page.position };
  };

  /** What fails the others is not its own fault. */
  const pulled = (): Promise<void> => pulling?.catch(() => undefined) ?? lookAgain();

  /** Until the others have come to where it is. */
  const awaitOthers = async (reader: Reader): Promise<void> => {
    if (reader.pages < WAITING_PAGES_MIN || monotonicMs() - reader.aloneMs < ALONE_MS) return;
    while (reader.position > end && isPatient(reader) && !signal.aborted) await pulled();
    if (reader.position > end) reader.aloneMs = monotonicMs();
  };

  const meetOthers = async (reader: Reader): Promise<void> => {
    // Where reading begins is not known yet.
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
