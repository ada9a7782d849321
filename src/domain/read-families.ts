import { type EventStore, LOG_START, type Page, type Position } from './ports/event-store.ts';

export interface ReadFamilies {
  readonly categories: readonly string[];
  /** Exclusive. Default: the log's start. */
  readonly from?: Position;
  /** Log position up to which to read. Pages may go beyond it. */
  readonly to: Position;
  /** Stops the search. Events found until then have been yielded. */
  readonly signal?: AbortSignal;
}

/** Higher: more events in memory at once. Lower: more round trips before a process is ready. */
const PAGE_EVENTS_MAX = 1_000;

/**
 * Reads whole families of events page by page, for callers that fold them into memory. Every page advances the position
 * and may be empty.
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
