import type { WarmUpEvent } from '../events.ts';
import { plannedDay, type WarmUp } from './warm-up.ts';

/** Ends a plan before its last day is over; where none runs there is nothing to end. */
export const endWarmUp = (
  { plan }: WarmUp,
  { domainId, today }: { readonly domainId: string; readonly today: string },
): readonly WarmUpEvent[] =>
  plan === null || plannedDay(plan, today) === null ? [] : [{ type: 'WarmUpEnded', data: { domainId } }];
