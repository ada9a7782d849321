import {
  type EventStore,
  READ_STREAM_LIMIT,
  type RecordedEvent,
  type StreamName,
} from '../domain/ports/event-store.ts';

/** All events of a stream, oldest first. */
export const readWholeStream = async (
  store: Pick<EventStore, 'readStream'>,
  stream: StreamName,
): Promise<readonly RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  for (;;) {
    const page = await store.readStream(stream, { from: events.length });
    events.push(...page);
    if (page.length < READ_STREAM_LIMIT) return events;
  }
};
