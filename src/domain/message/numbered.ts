import type { MessageEvent } from '../events.ts';
import { customerEventCount, type ExistingMessage } from './message.ts';

type WithoutSequence<E> = E extends { readonly type: infer Type; readonly data: infer Data }
  ? { readonly type: Type; readonly data: Omit<Data, 'sequence'> }
  : never;

/** A message event before it is known how many came before it. */
export type UnnumberedEvent = WithoutSequence<MessageEvent>;

/** Gives each event the sequence number that follows from the ones before it. */
export const numbered = (state: ExistingMessage, events: readonly UnnumberedEvent[]): readonly MessageEvent[] => {
  let sequence = state.nextSequence;
  return events.map(({ type, data }) => {
    const event = { type, data: { ...data, sequence } } as MessageEvent; // the field that was left out is put back
    sequence += customerEventCount(event);
    return event;
  });
};
