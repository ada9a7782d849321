import { BODY, LIST, ONE, ONE_CHANGED, READ, type RouteRule, SEND, SENDING } from '../route-rules.ts';
import { POSTMARK_TOKEN_HEADER } from './vendors.ts';

const SENT = { ...SEND, idempotent: true, errors: [...BODY, ...SENDING] } as const;
/** Several messages: its cost is in its body. */
const SENT_BATCH = { ...SENT, costInBody: true, errors: [...SENT.errors, 'batch_exceeds_limit'] } as const;
/** It shows what a message says. */
const READ_ONE = { ...READ, contents: true, errors: [...ONE, 'content_gone'] } as const;

const RESEND = { compat: 'resend' } as const;
const POSTMARK = { compat: 'postmark', tokenHeader: POSTMARK_TOKEN_HEADER } as const;
const SENDGRID = { compat: 'sendgrid' } as const;

/** Routes of other services' published clients: rows of the route table. */
export const COMPAT_ROUTES = {
  'POST /compat/resend/emails': { ...SENT, ...RESEND },
  'POST /compat/resend/emails/batch': { ...SENT_BATCH, ...RESEND },
  'GET /compat/resend/emails': { ...READ, ...RESEND, errors: LIST },
  'GET /compat/resend/emails/:id': { ...READ_ONE, ...RESEND },
  'PATCH /compat/resend/emails/:id': {
    ...SEND,
    ...RESEND,
    errors: [
      ...BODY,
      ...ONE_CHANGED,
      'message_being_sent',
      'message_ended',
      'message_not_scheduled',
      'schedule_not_possible',
    ],
  },
  'POST /compat/resend/emails/:id/cancel': {
    ...SEND,
    ...RESEND,
    errors: [...BODY, ...ONE_CHANGED, 'message_being_sent', 'message_ended'],
  },
  'POST /compat/postmark/email': { ...SENT, ...POSTMARK },
  'POST /compat/postmark/email/batch': { ...SENT_BATCH, ...POSTMARK },
  'POST /compat/postmark/email/withTemplate': { ...SENT, ...POSTMARK },
  'POST /compat/postmark/email/batchWithTemplates': { ...SENT_BATCH, ...POSTMARK },
  'GET /compat/postmark/messages/outbound/:id/details': { ...READ_ONE, ...POSTMARK },
  'GET /compat/postmark/messages/outbound/:id/dump': { ...READ_ONE, ...POSTMARK },
  'POST /compat/sendgrid/v3/mail/send': { ...SENT_BATCH, ...SENDGRID, status: 202 },
} as const satisfies Readonly<Record<string, RouteRule>>;
