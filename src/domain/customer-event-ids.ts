import { sha256 } from './digest.ts';
import { formatTimedId, timeInId } from './ids.ts';

/** Ids of customer events, and the log events that they can come from. */

/** The time in a UUIDv7 (RFC 9562 §5.7), in milliseconds. */
const timeIn = (uuid: string): number => Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);

const uuidOf = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

/**
 * Starts with the time in the log event's id, so that the log event is found without an index of customer events.
 * @param eventId UUID of the log event.
 * @param index position among the customer events that it produces.
 */
export const customerEventId = (eventId: string, index: number): string =>
  formatTimedId('evt', timeIn(eventId), sha256(`${eventId}\0${index}`));

/** The range of UUIDs that contains the log event of a customer event. */
export const eventIdsOf = (id: string): readonly [first: string, last: string] => {
  const time = timeInId(id).toString(16).padStart(12, '0');
  return [uuidOf(time.padEnd(32, '0')), uuidOf(time.padEnd(32, 'f'))];
};

const lengthOf = (list: unknown): number => (Array.isArray(list) ? list.length : 0);

/**
 * Whether a stored log event produces this customer event. It produces one, or one for each recipient that it names.
 */
export const isCustomerEventOf = (
  id: string,
  { id: eventId, data }: { readonly id: string; readonly data: Readonly<Record<string, unknown>> },
): boolean => {
  const made = Math.max(1, lengthOf(data.recipients), lengthOf(data.recipientIds));
  return Array.from({ length: made }, (_, index) => customerEventId(eventId, index)).includes(id);
};
