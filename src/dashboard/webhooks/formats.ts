import type { SerializedWebhook } from '../../http/resources/webhooks/webhook.ts';

/** Formats of posts, with their names and a description. The format of a webhook cannot be changed. */
export const FORMATS: Readonly<Record<SerializedWebhook['format'], readonly [name: string, text: string]>> = {
  outbox: ['Outbox', 'one event in each post, signed with a secret (Standard Webhooks)'],
  sendgrid: ['SendGrid', 'for a receiver written for SendGrid’s Event Webhook, signed for its verifier'],
  resend: ['Resend', 'for a receiver written for webhooks of Resend, with the headers of Svix'],
  postmark_inbound: ['Postmark inbound', 'received mail with its text and attachments, as Postmark posts it'],
  sendgrid_inbound: [
    'SendGrid inbound',
    'received mail as a form with its files, as Inbound Parse of SendGrid posts it',
  ],
};

const OUTCOMES: readonly string[] = [
  'message.delivered',
  'message.deferred',
  'message.bounced',
  'message.failed',
  'message.suppressed',
  'message.expired',
  'message.opened',
  'message.clicked',
  'message.complained',
];

/** Event types of the formats that know single types only. */
export const TYPES_OF_FORMAT: Readonly<Partial<Record<string, readonly string[]>>> = {
  sendgrid: ['message.accepted', ...OUTCOMES, 'message.unsubscribed'],
  resend: ['message.accepted', 'message.scheduled', ...OUTCOMES],
  postmark_inbound: ['inbound.received'],
  sendgrid_inbound: ['inbound.received'],
};
