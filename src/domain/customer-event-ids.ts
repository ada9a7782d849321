import { sha256 } from './digest.ts';
import { formatTimedId, timeInId } from './ids.ts';

/** Ids of customer events, and from which events of the log they can be. */

/** The time in a UUIDv7 (RFC 9562 §5.7), in milliseconds. */
const timeIn = (uuid: string): number => Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);

const uuidOf = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

/**
 * Begins with the time in the id of the log's own event, so that this event is found without an index of customer events.
 * @param eventId of the log's own event, a UUID. @param index which of the customer events that it makes.
 */
export const customerEventId = (eventId: string, index: number): string =>
  formatTimedId('evt', timeIn(eventId), sha256(`${eventId}\0${index}`));

/** Between which UUIDs the event of the log is that makes a customer event. */
export const eventIdsOf = (id: string): readonly [first: string, last: string] => {
  const time = timeInId(id).toString(16).padStart(12, '0');
  return [uuidOf(time.padEnd(32, '0')), uuidOf(time.padEnd(32, 'f'))];
};

const lengthOf = (list: unknown): number => (Array.isArray(list) ? list.length : 0);

/** Whether an event of the log, as it is stored, makes a customer event: it makes one, or one for each recipient it names. */
export const isCustomerEventOf = (
  id: string,
  { id: eventId, data }: { readonly id: string; readonly data: Readonly<Record<string, unknown>> },
): boolean => {
  const made = Math.max(1, lengthOf(data.recipients), lengthOf(data.recipientIds));
  return Array.from({ length: made }, (_, index) => customerEventId(eventId, index)).includes(id);
};
