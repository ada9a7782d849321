import type { Aggregate } from '../decider.ts';
import type { StreamName } from '../event-store.ts';
import type { DestinationEvent } from '../events.ts';

export type Suspension = Extract<DestinationEvent, { type: 'DestinationSuspended' }>['data'] & {
  readonly since: string;
};

/** Mail servers of one operator; `suspension` is over when its time is. */
export interface Destination {
  readonly suspension: Suspension | null;
}

export const destinationStream = (operator: string): StreamName => `destination-${operator}`;

export const destination: Aggregate<Destination, DestinationEvent> = {
  category: 'destination',
  initial: { suspension: null },
  evolve: (_state, { type, data }, { occurredAt }) => {
    switch (type) {
      case 'DestinationSuspended':
        return { suspension: { ...data, since: occurredAt } };
      case 'DestinationReleased':
        return { suspension: null };
      default:
        return type satisfies never;
    }
  },
};

export const isSuspended = ({ suspension }: Destination, now: string): boolean =>
  suspension !== null && suspension.until > now;
