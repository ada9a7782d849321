import type { DestinationEvent } from '../events.ts';
import { Refusal } from '../refusal.ts';
import { type Destination, isSuspended } from './destination.ts';

/** Ends a suspension before its time. @param now ISO 8601. @throws {Refusal} `not_found`: it is not suspended. */
export const releaseDestination = (state: Destination, operator: string, now: string): readonly DestinationEvent[] => {
  if (!isSuspended(state, now)) throw new Refusal('not_found', 'the destination is not suspended');
  return [{ type: 'DestinationReleased', data: { operator } }];
};
