import {
  type EventStore,
  type Filter,
  LOG_START,
  type Page,
  type Position,
  type ReadAllOptions,
  type RecordedEvent,
} from '../../domain/ports/event-store.ts';
import { readFault } from './eventstoredb-faults.ts';
import { type Followed, follow, isCheckpointTrusted } from './eventstoredb-follow.ts';

/** The category that nearly every event has: whoever asks for it is quicker served by reading everything. */
const BULK_CATEGORY = 'message';
/**
 * Events that are read and looked at here before the server is asked to search. Fewer opens a subscription for a few
 * hundred events each time that somebody reads on; more sends what nobody asked for.
 */
const NEAR_EVENTS_MAX = 2000;

export const isBesideMessages = (filter: Filter | undefined): boolean =>
  filter?.categories?.includes(BULK_CATEGORY) === false;

const isSelective = ({ direction = 'forwards', filter, limit }: ReadAllOptions): boolean =>
  direction === 'forwards' && limit > 0 && isBesideMessages(filter);

interface Search {
  readonly filter: Filter;
  readonly limit: number;
  /** Ends the search, as the store's closing does. */
  readonly signal: AbortSignal;
}

const earlier = (a: Position, b: Position): Position => (a < b ? a : b);

/**
 * Reads of the whole log. The client's read takes no filter, so that whoever wants a few events would be sent all; what
 * lies further on is therefore searched by the server, in a subscription that ends at the head. Where the server's
 * checkpoints cannot be trusted nobody knows how far it has searched, and everything is read.
 */
export const createReadAll = (followed: Followed): EventStore['readAll'] => {
  const { connection, reader } = followed;

  /** At least `limit` events from beyond `from`, or all up to the head, or to where the search was ended. */
  const find = async (from: Position, head: Position, { filter, limit, signal }: Search): Promise<Page> => {
    const events: RecordedEvent[] = [];
    let searched = from;
    for await (const page of follow(followed, from, filter, signal)) {
      events.push(...page.events.filter((event) => event.position <= head));
      searched = earlier(page.position, head);
      if (events.length >= limit || searched === head) break;
    }
    connection.assertOpen(); // else it may have ended early
    return { events, position: searched };
  };

  /** Up to `limit` events from beyond `from` up to the head as it is now. */
  const search = async (from: Position, options: Search): Promise<Page> => {
    const head = await reader.head();
    if (head <= from) return { events: [], position: from };
    const { events, position } = await find(from, head, options);
    const last = events[options.limit - 1];
    return { events: events.slice(0, options.limit), position: last?.position ?? position };
  };

  const readSelected = async ({ from = LOG_START, filter = {}, limit, signal }: ReadAllOptions): Promise<Page> => {
    const bounds = { limit, lookMax: NEAR_EVENTS_MAX, signal };
    const { isComplete, ...near } = await reader.forwards(from, filter, bounds);
    if (isComplete || signal?.aborted === true) return near;
    try {
      const ending = AbortSignal.any([connection.closing, ...(signal === undefined ? [] : [signal])]);
      const far = await search(near.position, { filter, limit: limit - near.events.length, signal: ending });
      return { events: [...near.events, ...far.events], position: far.position };
    } catch (error) {
      throw readFault(error, connection.hosts);
    }
  };

  return async (options) =>
    isSelective(options) && (await isCheckpointTrusted(connection)) ? readSelected(options) : reader.readAll(options);
};
