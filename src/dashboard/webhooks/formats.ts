import type { SerializedWebhook } from '../../http/resources/webhooks/webhook.ts';

/** Formats of posts, with their names and a description. The format of a webhook cannot be changed. */
export const FORMATS: Readonly<Record<SerializedWebhook['format'], readonly [name: string, text: string]>> = {
  outbox: ['Outbox', 'one event in each post, signed with a secret (Standard Webhooks)'],
  sendgrid: ['SendGrid', 'for a receiver written for SendGrid’s Event Webhook, signed for its verifier'],
};

/** Event types that the format of SendGrid has. */
export const SENDGRID_TYPES: readonly string[] = [
  'message.accepted',
  'message.delivered',
  'message.deferred',
  'message.bounced',
  'message.failed',
  'message.suppressed',
  'message.expired',
  'message.opened',
  'message.clicked',
  'message.complained',
  'message.unsubscribed',
];
