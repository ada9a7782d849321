import { EVENT_SCHEMAS, type EventType, type OutboxEvent } from './events.ts';
import { StartRefused } from './start-refused.ts';

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

/**
 * Upcasts of events in older shapes: `[type][n]` makes version n + 2 of version n + 1, so the current version of a type is
 * one more than its number of upcasts. An event that has been released keeps its shape for ever: a changed schema comes
 * with an upcast here and a fixture of the new version.
 */
export type Upcasts = Partial<Record<EventType, readonly ((data: unknown) => unknown)[]>>;

const UPCASTS: Upcasts = {};

export const currentVersion = (type: EventType, upcasts = UPCASTS): number => (upcasts[type]?.length ?? 0) + 1;

const isEventType = (type: string): type is EventType => Object.hasOwn(EVENT_SCHEMAS, type);

const checked = (type: EventType, data: unknown): OutboxEvent => {
  const result = EVENT_SCHEMAS[type].safeParse(data);
  if (!result.success) throw new MalformedEvent(`${type}: ${result.error.message}`);
  return { type, data: result.data } as OutboxEvent; // the schema of this very type has just passed
};

export const createEventCodec = (upcasts: Upcasts): EventCodec => ({
  encode: (event) => ({ ...checked(event.type, event.data), schemaVersion: currentVersion(event.type, upcasts) }),

  decode: ({ type, schemaVersion, data }) => {
    if (!isEventType(type) || schemaVersion > currentVersion(type, upcasts))
      throw new UnknownEvent(type, schemaVersion);
    const newer = upcasts[type]?.slice(schemaVersion - 1) ?? [];
    return checked(
      type,
      newer.reduce((older, upcast) => upcast(older), data),
    );
  },
});

export const eventCodec = createEventCodec(UPCASTS);

/**
 * Whether nobody who follows the log can go on, and another try would change nothing: the process is older than the
 * log, the log is damaged, or it is another log. Who passed over that would lose what follows: the process has to end.
 */
export const isFatal = (error: unknown): boolean =>
  error instanceof UnknownEvent || error instanceof MalformedEvent || error instanceof StartRefused;
