import type { DestinationEvent } from '../events.ts';
import { type Destination, isSuspended } from './destination.ts';

export type SuspendDestination = Extract<DestinationEvent, { type: 'DestinationSuspended' }>['data'];

/** Once: of several processes that find it so, the first says until when. @param now ISO 8601. */
export const suspendDestination = (
  state: Destination,
  suspension: SuspendDestination,
  now: string,
): readonly DestinationEvent[] => (isSuspended(state, now) ? [] : [{ type: 'DestinationSuspended', data: suspension }]);
