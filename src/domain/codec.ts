import { EVENT_SCHEMAS, type EventType, type OutboxEvent } from './events.ts';

/** One stored event as an adapter holds it. */
export interface StoredEvent {
  readonly type: string;
  readonly schemaVersion: number;
  readonly data: unknown;
}

/** How an adapter turns events into what it stores, and back. */
export interface EventCodec {
  /** @throws {MalformedEvent} data that its schema does not allow is never written. */
  encode(event: OutboxEvent): StoredEvent;
  /**
   * @throws {UnknownEvent} written by a newer version of this service.
   * @throws {MalformedEvent} what is stored is no event of its type.
   */
  decode(stored: StoredEvent): OutboxEvent;
}

/** This process is older than the log: it must not go on, or it would pass over what it does not understand. */
export class UnknownEvent extends Error {
  override readonly name = 'UnknownEvent';
  constructor(type: string, schemaVersion: number) {
    super(`this process is older than the log: it does not know event ${type} version ${schemaVersion}; upgrade it`);
  }
}

export class MalformedEvent extends Error {
  override readonly name = 'MalformedEvent';
}

type Upcast = (data: unknown) => unknown;

/**
 * Old shapes: `UPCASTS[type][n]` makes version n + 2 of version n + 1. The current version of a type is one more than
 * its number of upcasts.
 */
const UPCASTS: Partial<Record<EventType, readonly Upcast[]>> = {
  /** Version 1 noted the states alone; up to version 2 no state was `include_broken`. */
  DomainRecordsChecked: [(data) => ({ ...(data as object), records: [] }), (data) => data],
};

export const currentVersion = (type: EventType): number => (UPCASTS[type]?.length ?? 0) + 1;

const isEventType = (type: string): type is EventType => Object.hasOwn(EVENT_SCHEMAS, type);

const checked = (type: EventType, data: unknown): OutboxEvent => {
  const result = EVENT_SCHEMAS[type].safeParse(data);
  if (!result.success) throw new MalformedEvent(`${type}: ${result.error.message}`);
  return { type, data: result.data } as OutboxEvent; // the schema of this very type has just passed
};

export const eventCodec: EventCodec = {
  encode: (event) => ({ ...checked(event.type, event.data), schemaVersion: currentVersion(event.type) }),

  decode: ({ type, schemaVersion, data }) => {
    if (!isEventType(type) || schemaVersion > currentVersion(type)) throw new UnknownEvent(type, schemaVersion);
    const upcasts = UPCASTS[type]?.slice(schemaVersion - 1) ?? [];
    return checked(
      type,
      upcasts.reduce((older, upcast) => upcast(older), data),
    );
  },
};
