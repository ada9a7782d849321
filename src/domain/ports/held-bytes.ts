import type { RecordedEvent } from './event-store.ts';

/** Bytes of an event's data, by which pages and kept events are bounded. The decoded data holds some two times as much. */
export const heldBytes = ({ stored }: Pick<RecordedEvent, 'stored'>): number => stored.data.length;
