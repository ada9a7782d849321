import type { EventType, MessageEvent } from '../../../src/domain/kernel/events.ts';
import { about, smtpReply } from '../../support/controls/message.ts';

type Later = Exclude<MessageEvent['type'], 'MessageAccepted'>;

const one = { ...about, sequence: 2, recipientId: 'rcp_1', attempt: 1 };
const many = { ...about, sequence: 2, recipientIds: ['rcp_1'], attempt: 1 };

const schedule = { scheduledAt: '2026-11-22T08:00:00.000Z', expiresAt: '2026-11-25T08:00:00.000Z' };

/** Each event that can follow an acceptance, about recipient rcp_1 of msg_1. */
export const LATER_EVENTS = {
  MessageScheduled: { type: 'MessageScheduled', data: { ...many, ...schedule } },
  MessageRescheduled: { type: 'MessageRescheduled', data: { ...many, ...schedule } },
  RecipientsHeld: {
    type: 'RecipientsHeld',
    data: {
      ...about,
      sequence: 2,
      recipientIds: ['rcp_1'],
      reason: 'domain_paused',
      heldBy: 'dom_1',
      until: '2026-11-22T12:00:00.000Z',
    },
  },
  AttemptStarted: { type: 'AttemptStarted', data: { ...many, leaseUntil: '2026-11-21T12:05:00.000Z' } },
  AttemptOutcomeUnknown: {
    type: 'AttemptOutcomeUnknown',
    data: { ...many, nextAttemptAt: '2026-11-21T12:10:00.000Z' },
  },
  RecipientDelivered: { type: 'RecipientDelivered', data: { ...one, smtp: smtpReply(250) } },
  RecipientDeferred: {
    type: 'RecipientDeferred',
    data: { ...one, smtp: smtpReply(451), nextAttemptAt: '2026-11-21T12:06:00.000Z', reason: 'greylisted' },
  },
  RecipientBounced: { type: 'RecipientBounced', data: { ...one, smtp: smtpReply(550), reason: 'no such user' } },
  RecipientExpired: { type: 'RecipientExpired', data: { ...one, reason: 'too late' } },
  RecipientFailed: { type: 'RecipientFailed', data: { ...one, reason: 'erased' } },
  RecipientSuppressed: { type: 'RecipientSuppressed', data: { ...one, reason: 'on the list' } },
  RecipientCancelled: { type: 'RecipientCancelled', data: { ...one, reason: 'called off' } },
  RecipientOpened: {
    type: 'RecipientOpened',
    data: { ...one, first: true, count: 1, client: 'chrome', network: 'other' },
  },
  RecipientClicked: {
    type: 'RecipientClicked',
    data: { ...one, first: true, count: 2, client: 'chrome', network: 'other', link: 0, linkId: 'link-1' },
  },
  RecipientComplained: { type: 'RecipientComplained', data: one },
  RecipientReportNoted: { type: 'RecipientReportNoted', data: { ...one, report: 'failure', doubt: 'address_behind' } },
  RecipientsResent: {
    type: 'RecipientsResent',
    data: { ...about, sequence: 2, recipientIds: ['rcp_1'], resentAs: 'msg_2' },
  },
  RecipientUnsubscribed: { type: 'RecipientUnsubscribed', data: { ...one, method: 'page' } },
} satisfies { readonly [Type in Later]: Extract<MessageEvent, { readonly type: Type }> };

export const laterTypes = Object.keys(LATER_EVENTS) as (Later & EventType)[];
