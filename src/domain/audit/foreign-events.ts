import type { IsAuthentic, RecordedEvent } from '../kernel/event-store.ts';

/**
 * Foreign events: those that this service cannot prove to have written (`EventMacs`). Whoever can write to the database
 * can insert or change events, but cannot make their proofs. Trees with such an event are not signed until an operator has
 * adopted it, which is an event itself and needs a proof.
 */
export interface ForeignEvents {
  /** All foreign events before these were adopted. */
  readonly adoptsEarlier: boolean;
  /** Foreign events that are not adopted, in order. */
  readonly events: readonly RecordedEvent[];
}

const NONE: ForeignEvents = { adoptsEarlier: false, events: [] };

/** @param events consecutive ones. @param isAuthentic absent: events of this log carry no proof. */
export const foreignEvents = (
  events: readonly RecordedEvent[],
  isAuthentic: IsAuthentic | undefined,
): ForeignEvents => {
  if (isAuthentic === undefined) return NONE;
  const adopted = events.findLastIndex((event) => event.type === 'EarlierEventsAdopted' && isAuthentic(event));
  return {
    adoptsEarlier: adopted !== -1,
    events: events.slice(adopted + 1).filter((event) => !isAuthentic(event)),
  };
};
