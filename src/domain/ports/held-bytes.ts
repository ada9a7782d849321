import type { RecordedEvent } from './event-store.ts';

/** Bytes of an event's data, used to bound pages and kept events. The decoded data takes about twice as much. */
export const heldBytes = ({ stored }: Pick<RecordedEvent, 'stored'>): number => stored.data.length;
