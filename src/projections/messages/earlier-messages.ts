import type { RecordedEvent } from '../../domain/kernel/event-store.ts';

/** Ids of messages that these events concern and that were accepted earlier: their rows must be read. */
export const earlierMessages = (events: readonly RecordedEvent[]): readonly string[] => {
  const concerned = new Set<string>();
  const acceptedHere = new Set<string>();
  for (const { type, data } of events) {
    if ('messageId' in data) concerned.add(data.messageId);
    if (type === 'MessageAccepted') acceptedHere.add(data.messageId);
  }
  return [...concerned.difference(acceptedHere)];
};

/** A message's entry. @throws {RangeError} an event came before the message's acceptance. */
export const known = <T>(messages: ReadonlyMap<string, T>, messageId: string): T => {
  const found = messages.get(messageId);
  if (found === undefined) throw new RangeError(`the acceptance of message ${messageId} has not been applied`);
  return found;
};
