import type { EventType, MessageEvent } from '../../../src/domain/events.ts';
import { about, smtpReply } from '../../support/controls/message.ts';

type Later = Exclude<MessageEvent['type'], 'MessageAccepted'>;

const one = { ...about, sequence: 2, recipientId: 'rcp_1', attempt: 1 };
const many = { ...about, sequence: 2, recipientIds: ['rcp_1'], attempt: 1 };

/** One of each event that can follow an acceptance, about recipient rcp_1 of msg_1. */
export const LATER_EVENTS = {
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
  RecipientComplained: { type: 'RecipientComplained', data: one },
} satisfies { readonly [Type in Later]: Extract<MessageEvent, { readonly type: Type }> };

export const laterTypes = Object.keys(LATER_EVENTS) as (Later & EventType)[];
