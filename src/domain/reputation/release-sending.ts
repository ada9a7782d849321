import type { StandingEvent } from '../events.ts';
import type { Sender, Standing } from './standing.ts';

/** Ends whatever was held against a domain or an organization; one that stands well is left as it is. */
export const releaseSending = ({ level }: Standing, { domainId, organizationId }: Sender): readonly StandingEvent[] => {
  if (level === 'good') return [];
  return domainId === null
    ? [{ type: 'OrganizationSendingReleased', data: { organizationId } }]
    : [{ type: 'SendingReleased', data: { domainId } }];
};
