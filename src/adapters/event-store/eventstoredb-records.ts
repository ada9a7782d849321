import type { EventCodec } from '../../domain/kernel/codec.ts';
import { type Filter, passes, type RecordedEvent, type StreamName } from '../../domain/kernel/event-store.ts';
import type { RawEvent } from './eventstoredb-protocol-read.ts';

/** Identifies our events among the server's, and decodes them. */

/** Stream of the log's own id. No reader of events ever sees it. */
export const LOG_ID_STREAM = 'outboxLog-identity';

/** Matches canonical JSON, in which metadata is written. */
const STAMP = /"schemaVersion":\d/;

/**
 * Our codec stamps its version, which distinguishes our events from the server's own and from those of other
 * applications.
 */
export const isOurs = ({ stream, metadata }: RawEvent): boolean =>
  !stream.startsWith('$') && stream !== LOG_ID_STREAM && STAMP.test(metadata);

export const matches = (filter: Filter | undefined, event: RawEvent): boolean =>
  isOurs(event) && passes(filter, event.stream as StreamName);

/** @throws {UnknownEvent} @throws {MalformedEvent} like the codec. */
export const recordedEvent = (codec: EventCodec, raw: RawEvent): RecordedEvent => ({
  ...codec.decode({ id: raw.id, type: raw.type, data: raw.data, metadata: raw.metadata }),
  stream: raw.stream as StreamName, // names of our streams are made by us
  revision: raw.revision,
  position: raw.position,
});
