import type { StandingEvent } from '../events.ts';
import type { Standing } from './standing.ts';

/** Ends whatever was held against a domain; one that stands well is left as it is. */
export const releaseSending = ({ level }: Standing, domainId: string): readonly StandingEvent[] =>
  level === 'good' ? [] : [{ type: 'SendingReleased', data: { domainId } }];
