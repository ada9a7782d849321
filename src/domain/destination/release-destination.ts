import type { DestinationEvent } from '../events.ts';
import { type Destination, isSuspended } from './destination.ts';

/** Ends a suspension before its time; one that is over, or never was, is left as it is. @param now ISO 8601. */
export const releaseDestination = (state: Destination, operator: string, now: string): readonly DestinationEvent[] =>
  isSuspended(state, now) ? [{ type: 'DestinationReleased', data: { operator } }] : [];
