import type {
  EventStore,
  FollowedPage,
  IsAuthentic,
  Page,
  Position,
  ReadStreamOptions,
  RecordedEvent,
  StreamName,
} from '../domain/kernel/event-store.ts';
import { LOG_START } from '../domain/kernel/event-store.ts';
import { adoptionsStream } from '../domain/kernel/streams.ts';
import type { Logger } from '../lib/async/async.ts';

/**
 * Nothing is decided from a foreign event, and no route shows its stream: this service did not write it
 * (`domain/kernel/event-macs.ts`), and no operator has adopted it. An intruder with the database can insert one. Commands and
 * routes that read its stream are refused (`readStream`), and workers and the key cache leave it out (`withoutForeign`). The
 * read models and the audit trees have it: signing stops before it.
 */

/** An event in a stream that a decision or a response needs. */
export class ForeignEvent extends Error {
  override readonly name = 'ForeignEvent';
  constructor({ id, type, stream }: { readonly id: string; readonly type: string; readonly stream: StreamName }) {
    super(
      `event ${id} (${type}) of ${stream} was inserted or changed in the database: this service did not write it, so nothing is ` +
        'decided from this stream, and it is not shown. Ask the operator to run `outbox audit check`',
    );
  }
}

type Log = Pick<EventStore, 'isAuthentic' | 'readStream'>;

/** Position of the last adoption, as far as it was read. A process has one log, and each codec its own function. */
const adopted = new WeakMap<IsAuthentic, Position>();

/** Higher reads more of a stream that has an event a year. Lower overlooks the last true adoption behind forged ones. */
const ADOPTIONS_READ = 100;

const readAdopted = async (store: Log, isAuthentic: IsAuthentic): Promise<Position> => {
  const adoptions = await store.readStream(adoptionsStream(), { direction: 'backwards', limit: ADOPTIONS_READ });
  const position = adoptions.find(isAuthentic)?.position ?? LOG_START;
  adopted.set(isAuthentic, position);
  return position;
};

/** @returns the foreign events. The log is read only if there may be some. */
const foreignAmong = async (store: Log, events: readonly RecordedEvent[]): Promise<readonly RecordedEvent[]> => {
  const { isAuthentic } = store;
  if (isAuthentic === undefined) return [];
  const known = adopted.get(isAuthentic) ?? LOG_START;
  const doubtful = events.filter((event) => event.position > known && !isAuthentic(event));
  if (doubtful.length === 0) return doubtful;
  const position = await readAdopted(store, isAuthentic);
  return doubtful.filter((event) => event.position > position);
};

/** @throws {ForeignEvent} */
export const requireWritten = async (store: Log, events: readonly RecordedEvent[]): Promise<void> => {
  const [first] = await foreignAmong(store, events);
  if (first !== undefined) throw new ForeignEvent(first);
};

/** Events of a stream, for commands and routes. @throws {ForeignEvent} */
export const readStream = async (
  store: Log,
  stream: StreamName,
  options?: ReadStreamOptions,
): Promise<readonly RecordedEvent[]> => {
  const events = await store.readStream(stream, options);
  await requireWritten(store, events);
  return events;
};

/**
 * The log without foreign events, for followers that act on events. It logs the first foreign event of each page. Events that
 * an operator adopts later are followed after a restart.
 */
export const withoutForeign = (store: EventStore, logger: Logger): EventStore => {
  const leaveOut = async <P extends Page>(page: P): Promise<P> => {
    const foreign = new Set(await foreignAmong(store, page.events));
    const [first] = foreign;
    if (first === undefined) return page;
    const { id: eventId, type, stream } = first;
    logger.error(
      { alarm: 'audit', eventId, type, stream, count: foreign.size },
      'left out an event that this service did not write: the database was changed from outside. Run `outbox audit check`',
    );
    return { ...page, events: page.events.filter((event) => !foreign.has(event)) };
  };

  async function* subscribe(...following: Parameters<EventStore['subscribe']>): AsyncGenerator<FollowedPage> {
    for await (const page of store.subscribe(...following)) yield await leaveOut(page);
  }

  return {
    ...store,
    readAll: async (options) => leaveOut(await store.readAll(options)),
    subscribe: subscribe as EventStore['subscribe'],
  };
};
