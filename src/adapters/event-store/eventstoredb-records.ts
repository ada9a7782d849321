import type { EventCodec } from '../../domain/codec.ts';
import { type Filter, passes, type RecordedEvent, type StreamName } from '../../domain/ports/event-store.ts';
import type { RawEvent } from './eventstoredb-protocol-read.ts';

/** Which of the server's events are ours, and what they say. */

/** Holds the log's own id; no reader of events ever sees it. */
export const LOG_ID_STREAM = 'outboxLog-identity';

/** As canonical JSON writes it. */
const STAMP = /"schemaVersion":\d/;

/** Told from the server's own events, and from those of others who share it, by the version that our codec stamps. */
export const isOurs = ({ stream, metadata }: RawEvent): boolean =>
  !stream.startsWith('$') && stream !== LOG_ID_STREAM && STAMP.test(metadata);

export const matches = (filter: Filter | undefined, event: RawEvent): boolean =>
  isOurs(event) && passes(filter, event.stream as StreamName);

/** @throws {UnknownEvent} @throws {MalformedEvent} as the codec does. */
export const recordedEvent = (codec: EventCodec, raw: RawEvent): RecordedEvent => ({
  ...codec.decode({ id: raw.id, type: raw.type, data: raw.data, metadata: raw.metadata }),
  stream: raw.stream as StreamName, // names of streams that are ours are made by us
  revision: raw.revision,
  position: raw.position,
});
