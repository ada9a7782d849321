import { StartRefused } from '../../lib/async/async.ts';
import type { EventCodec as LogCodec } from '../../lib/event-log/event-log.ts';
import { canonicalJson, hasHalfPair } from '../../lib/transparency/transparency.ts';
import { type EventMacs, withoutMac } from './event-macs.ts';
import type { EventContext, EventMetadata, IsAuthentic, Revision, StoredEvent, StreamName } from './event-store.ts';
import { EVENT_SCHEMAS, type EventType, type OutboxEvent } from './events.ts';

/**
 * Converts events to their stored form and back. `encode` throws `MalformedEvent` if the data violates its schema or
 * does not fit in a leaf. `decode` throws `UnknownEvent` if a newer version of this service wrote the event, and
 * `MalformedEvent` if the stored data is not an event of its type.
 */
export type EventCodec = LogCodec<OutboxEvent, EventContext>;

/** The process is older than the log. It must stop, because it would skip events that it does not understand. */
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
 * Upcasts for older schema versions: `[type][n]` converts version n + 1 to version n + 2, so the current version of a
 * type is one more than its number of upcasts. The shape of a released event never changes: a new schema needs an
 * upcast here and a fixture of the new version.
 */
export type Upcasts = Partial<Record<EventType, readonly ((data: unknown) => unknown)[]>>;

const UPCASTS: Upcasts = {};

export const currentVersion = (type: EventType, upcasts = UPCASTS): number => (upcasts[type]?.length ?? 0) + 1;

const isEventType = (type: string): type is EventType => Object.hasOwn(EVENT_SCHEMAS, type);

const checked = (type: EventType, data: unknown): OutboxEvent => {
  const result = EVENT_SCHEMAS[type].safeParse(data);
  if (!result.success) throw new MalformedEvent(`${type}: ${result.error.message}`);
  return { type, data: result.data } as OutboxEvent; // validated by the schema of this type
};

/**
 * Maximum UTF-8 bytes of an event's data and metadata. A leaf has at most 65,535 bytes (tlog-tiles, entry bundles);
 * 1,000 are reserved for its id, type, stream and revision.
 */
const STORED_BYTES_MAX = 64_535;

/** @throws {MalformedEvent} */
const assertLeaf = ({ type, data, metadata }: StoredEvent): void => {
  if (hasHalfPair(data) || hasHalfPair(metadata)) throw new MalformedEvent(`${type}: half a surrogate pair`);
  const characters = data.length + metadata.length;
  if (characters * 3 > STORED_BYTES_MAX && Buffer.byteLength(data) + Buffer.byteLength(metadata) > STORED_BYTES_MAX) {
    throw new MalformedEvent(`${type}: larger than ${STORED_BYTES_MAX} bytes`);
  }
};

/** @throws {MalformedEvent} */
const parsed = (type: string, text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new MalformedEvent(`${type}: not JSON`);
  }
};

interface Place {
  readonly stream: StreamName;
  readonly revision: Revision;
}

/**
 * Events that this process encoded or authenticated, by their stored form: while that is in memory, it need not be parsed, validated and
 * authenticated again.
 */
const createOwnEvents = () => {
  const decodedOf = new WeakMap<StoredEvent, ReturnType<EventCodec['decode']>>();
  const placeOf = new WeakMap<StoredEvent, Place>();
  return {
    add: (decoded: ReturnType<EventCodec['decode']>, place: Place): void => {
      decodedOf.set(decoded.stored, decoded);
      placeOf.set(decoded.stored, place);
    },
    find: (stored: StoredEvent) => decodedOf.get(stored),
    /** True if the event is at its place: `isAuthentic` is called once for each. */
    isAt: (event: Parameters<IsAuthentic>[0], isAuthentic: IsAuthentic): boolean => {
      const { stored, stream, revision } = event;
      const place = placeOf.get(stored);
      if (place !== undefined) return place.stream === stream && place.revision === revision;
      if (!isAuthentic(event)) return false;
      placeOf.set(stored, { stream, revision });
      return true;
    },
  };
};

/** The metadata that the events of an append share, and its text, by version of a schema. */
const createMetadata = (context: EventContext) => {
  const byVersion = new Map<number, readonly [EventMetadata, string]>();
  return (schemaVersion: number): readonly [EventMetadata, string] => {
    const metadata = { ...context, schemaVersion };
    const made = byVersion.get(schemaVersion) ?? ([metadata, canonicalJson(metadata)] as const);
    byVersion.set(schemaVersion, made);
    return made;
  };
};

/** @param macs seal each event; absent: events carry no proof of who wrote them. */
export const createEventCodec = (upcasts: Upcasts, macs?: EventMacs): EventCodec => {
  const own = createOwnEvents();

  const decode: EventCodec['decode'] = (stored) => {
    const { id, type } = stored;
    const metadata = parsed(type, withoutMac(stored.metadata)) as EventMetadata; // `encode` wrote it
    const version = metadata.schemaVersion;
    if (!Number.isInteger(version)) throw new MalformedEvent(`${type}: no version of its schema`);
    if (!isEventType(type) || version > currentVersion(type, upcasts)) throw new UnknownEvent(type, version);
    const older = upcasts[type]?.slice(version - 1) ?? [];
    const data = older.reduce((value, upcast) => upcast(value), parsed(type, stored.data));
    return { ...checked(type, data), id, metadata, stored };
  };

  return {
    isAuthentic: macs && ((event) => own.isAt(event, macs.isAuthentic)),
    seals: macs?.seals,

    encode: (events, context, { stream, expected }) => {
      const first = expected === 'no-stream' ? 0 : expected + 1;
      const metadataOf = createMetadata(context);
      return events.map((event, index) => {
        const { id } = event;
        const [metadata, metadataText] = metadataOf(currentVersion(event.type, upcasts));
        const valid = checked(event.type, event.data);
        const plain = { id, type: valid.type, data: canonicalJson(valid.data), metadata: metadataText };
        assertLeaf(plain);
        const revision = first + index;
        const stored = macs?.seal(plain, stream, revision) ?? plain;
        own.add({ ...valid, id, metadata, stored }, { stream, revision });
        return stored;
      });
    },

    decode: (stored) => own.find(stored) ?? decode(stored),
  };
};

export const eventCodec = createEventCodec(UPCASTS);

export const createSealingCodec = (macs: EventMacs): EventCodec => createEventCodec(UPCASTS, macs);

/**
 * Whether no reader of the log can continue and a retry cannot help: the process is older than the log, the log is
 * damaged, or it is a different log. Skipping the event would lose what follows, so the process must exit.
 */
export const isFatal = (error: unknown): boolean =>
  error instanceof UnknownEvent || error instanceof MalformedEvent || error instanceof StartRefused;
