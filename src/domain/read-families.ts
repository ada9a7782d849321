import { type EventStore, LOG_START, type Page, type Position } from './ports/event-store.ts';

export interface ReadFamilies {
  readonly categories: readonly string[];
  /** Exclusive. Default: the log's start. */
  readonly from?: Position;
  /** A position of the log to read up to; pages may go beyond it. */
  readonly to: Position;
  /** Ends the search; what was found until then has been given. */
  readonly signal?: AbortSignal;
}

/** Larger holds more events at once, smaller costs more round trips before a process is ready. */
const PAGE_EVENTS_MAX = 1_000;

/**
 * Whole families of events, page by page, for those who fold them into what they keep in memory. Every page moves on, and
 * may be empty.
 */
export async function* readFamilies(
  store: Pick<EventStore, 'readAll'>,
  { categories, from = LOG_START, to, signal }: ReadFamilies,
): AsyncGenerator<Page> {
  const filter = { categories };
  const options = { filter, to, limit: PAGE_EVENTS_MAX, folded: true, ...(signal === undefined ? {} : { signal }) };
  let position = from;
  while (position < to && signal?.aborted !== true) {
    const page = await store.readAll({ from: position, ...options });
    if (page.position <= position) return;
    position = page.position;
    yield page;
  }
}
