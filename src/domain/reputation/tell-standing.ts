import type { ReputationEvent } from '../events.ts';

const TYPES = {
  SendingWarned: 'domain.sending_warned',
  SendingSlowed: 'domain.sending_slowed',
  SendingPaused: 'domain.sending_paused',
  SendingRecovered: 'domain.sending_recovered',
  SendingReleased: 'domain.sending_released',
  OrganizationSendingWarned: 'organization.sending_warned',
  OrganizationSendingSlowed: 'organization.sending_slowed',
  OrganizationSendingPaused: 'organization.sending_paused',
  OrganizationSendingRecovered: 'organization.sending_recovered',
  OrganizationSendingReleased: 'organization.sending_released',
} as const satisfies Readonly<Record<ReputationEvent['type'], string>>;

const BECAME = { bounces: 'bounced because there is no such mailbox', complaints: 'complained' } as const;

/** What customers are told of a reputation, and why in a sentence, which addresses have no part in. */
export const tellStanding = ({ type, data }: ReputationEvent) => {
  if (!('measure' in data)) return { type: TYPES[type], facts: {} };
  const { measure, count, of, limitPercent } = data;
  const reason = `${count} of ${of} recipients of bulk mail ${BECAME[measure]}: the limit is ${limitPercent} %`;
  return { type: TYPES[type], facts: { reason } };
};
