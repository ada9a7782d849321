import { z } from 'zod';
import { BOUNCE_CATEGORIES } from '../../domain/bounce/categories.ts';
import { environmentSchema } from '../../domain/environment.ts';
import { HOLD_REASONS } from '../../domain/message/events.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import { messageStatus, RECIPIENT_STATUSES, type Recipient } from '../../domain/message/recipient.ts';
import type { MessageBody, MessageHead } from '../../domain/ports/contents.ts';
import { type LoadedContents, showSmtp } from '../../domain/shown-event.ts';
import type { ListedMessage } from '../../projections/messages/queries.ts';
import { showToldAnalysis, toldAnalysisShape } from './analysis.ts';
import { smtpShape } from './smtp.ts';
import { timeShape } from './time.ts';

const status = z.enum(RECIPIENT_STATUSES);
const kind = z.enum(['to', 'cc', 'bcc']);

/** A recipient as lists show it; the address is null once the contents are gone. */
const listedRecipientShape = z.strictObject({
  id: z.string(),
  address: z.string().nullable(),
  kind,
  status,
  complained: z.boolean(),
  unsubscribed: z.boolean(),
});

const recipientShape = listedRecipientShape.extend({
  reason: z.string().nullable(),
  /** Why it was refused last; null: it was not, or nobody knows. */
  category: z.enum(BOUNCE_CATEGORIES).nullable(),
  next_attempt_at: timeShape().nullable(),
  held: z
    .strictObject({
      reason: z.enum(HOLD_REASONS),
      since: timeShape(),
      until: timeShape().describe('When it is looked at again at the latest.'),
    })
    .nullable()
    .describe('Why it is kept back though its time has come; null: it is not.'),
  smtp: smtpShape.nullable(),
  updated_at: timeShape(),
});

const about = {
  id: z.string(),
  object: z.literal('message'),
  message_id: z.string(),
  status,
  environment: environmentSchema,
  created_at: timeShape(),
};

/** How a message and its recipients stand when it is accepted. */
const acceptedStatus = z.enum(['accepted', 'scheduled']);

export const sentMessageShape = z.strictObject({
  ...about,
  status: acceptedStatus,
  /** Of a scheduled message: when it is to be sent. */
  scheduled_at: timeShape().optional(),
  recipients: z.array(z.strictObject({ id: z.string(), address: z.string(), kind, status: acceptedStatus })),
  /** Where it was asked for. */
  analysis: toldAnalysisShape.optional(),
});
export type SentMessageShape = z.infer<typeof sentMessageShape>;

const shown = {
  ...about,
  partial: z.boolean(),
  domain_id: z.string(),
  api_key_id: z.string(),
  stream: z.enum(['transactional', 'bulk']),
  size_bytes: z.number().int(),
  expires_at: timeShape(),
  /** When it is to be sent; null: at once. */
  scheduled_at: timeShape().nullable(),
  from: z.string().nullable(),
  subject: z.string().nullable(),
  tags: z.array(z.strictObject({ name: z.string(), value: z.string() })),
  metadata: z.record(z.string(), z.string()),
};

export const listedMessageShape = z.strictObject({ ...shown, recipients: z.array(listedRecipientShape) });
export type ListedMessageShape = z.infer<typeof listedMessageShape>;

export const messageShape = z.strictObject({
  ...shown,
  attempts: z.number().int(),
  recipients: z.array(recipientShape),
});
export type MessageShape = z.infer<typeof messageShape>;

export const messageContentShape = z.strictObject({
  object: z.literal('message_content'),
  id: z.string(),
  from: z.string(),
  from_name: z.string().nullable(),
  reply_to: z.array(z.string()),
  subject: z.string(),
  html: z.string().nullable(),
  text: z.string().nullable(),
  headers: z.record(z.string(), z.string()),
  /** Null: the message has no `List-Unsubscribe` of its own. */
  unsubscribe: z
    .union([z.literal('managed'), z.strictObject({ url: z.string().nullable(), mailto: z.string().nullable() })])
    .nullable(),
  alternatives: z
    .array(z.strictObject({ content_type: z.string(), content: z.string() }))
    .describe('The message in other forms than text and html, base64; only mail that came by SMTP has them.'),
  attachments: z.array(
    z.strictObject({
      filename: z.string(),
      content_type: z.string(),
      content_id: z.string().nullable(),
      content: z.string(),
    }),
  ),
});
export type MessageContentShape = z.infer<typeof messageContentShape>;

/** What a send is answered, now and on every replay: how the message stood when it was accepted. */
export const showSent = (
  { accepted, environment, acceptedAt, schedule }: ExistingMessage,
  { recipients, analysis }: MessageBody,
): SentMessageShape => {
  const status = schedule === null ? 'accepted' : 'scheduled';
  return {
    id: accepted.messageId,
    object: 'message',
    message_id: accepted.internetMessageId,
    status,
    environment,
    created_at: acceptedAt,
    ...(schedule === null ? {} : { scheduled_at: schedule.first }),
    recipients: recipients.map(({ id, address, kind }) => ({ id, address, kind, status })),
    ...(analysis === undefined ? {} : { analysis: showToldAnalysis(analysis) }),
  };
};

/** Personal data that stands in the vault; null or empty once it is gone. */
const personal = (body: MessageHead | null) => ({
  from: body?.from.address ?? null,
  subject: body?.subject ?? null,
  tags: body === null ? [] : body.tags.map(({ name, value }) => ({ name, value })),
  metadata: body === null ? {} : { ...body.metadata },
});

const addressOf = (body: MessageHead | null, recipientId: string): string | null =>
  body?.recipients.find(({ id }) => id === recipientId)?.address ?? null;

const showHeld = ({ held }: Recipient): MessageShape['recipients'][number]['held'] =>
  held === null ? null : { reason: held.reason, since: held.since, until: held.until };

const showRecipient = (
  recipient: Recipient,
  body: MessageHead | null,
  contents: LoadedContents,
): MessageShape['recipients'][number] => ({
  id: recipient.id,
  address: addressOf(body, recipient.id),
  kind: recipient.kind,
  status: recipient.status,
  complained: recipient.complained,
  unsubscribed: recipient.unsubscribedAt !== null,
  reason: recipient.reason,
  category: recipient.category,
  next_attempt_at: recipient.nextAttemptAt,
  held: showHeld(recipient),
  smtp: recipient.smtp === null ? null : showSmtp(recipient.smtp, contents),
  updated_at: recipient.updatedAt,
});

export const showMessage = (
  message: ExistingMessage,
  body: MessageHead | null,
  contents: LoadedContents,
): MessageShape => {
  const { accepted, recipients } = message;
  return {
    id: accepted.messageId,
    object: 'message',
    message_id: accepted.internetMessageId,
    ...messageStatus(recipients),
    environment: message.environment,
    created_at: message.acceptedAt,
    domain_id: accepted.domainId,
    api_key_id: accepted.keyId,
    stream: accepted.stream,
    size_bytes: accepted.sizeBytes,
    expires_at: message.expiresAt,
    scheduled_at: message.schedule?.current ?? null,
    ...personal(body),
    attempts: message.attempts,
    recipients: recipients.map((recipient) => showRecipient(recipient, body, contents)),
  };
};

export const showListedMessage = (message: ListedMessage, body: MessageHead | null): ListedMessageShape => ({
  id: message.messageId,
  object: 'message',
  message_id: message.internetMessageId,
  status: message.status,
  partial: message.partial,
  environment: message.environment,
  created_at: message.createdAt,
  domain_id: message.domainId,
  api_key_id: message.keyId,
  stream: message.stream,
  size_bytes: message.sizeBytes,
  expires_at: message.expiresAt,
  scheduled_at: message.scheduledAt,
  ...personal(body),
  recipients: message.recipients.map(({ id, kind, status, complained, unsubscribed }) => ({
    ...{ id, address: addressOf(body, id), kind, status, complained, unsubscribed },
  })),
});

const showUnsubscribe = ({ unsubscribe }: MessageBody): MessageContentShape['unsubscribe'] => {
  if (unsubscribe === undefined || unsubscribe === 'managed') return unsubscribe ?? null;
  return { url: unsubscribe.url ?? null, mailto: unsubscribe.mailto ?? null };
};

/** Values of a header that is given several times are one, as lists of words are written. */
const showHeaders = ({ headers, repeatedHeaders = [] }: MessageBody): MessageContentShape['headers'] => {
  const shown = { ...headers };
  for (const { name, value } of repeatedHeaders) shown[name] = `${shown[name]}, ${value}`;
  return shown;
};

export const showContent = (messageId: string, body: MessageBody): MessageContentShape => ({
  object: 'message_content',
  id: messageId,
  from: body.from.address,
  from_name: body.from.name ?? null,
  reply_to: body.replyTo.map(({ address }) => address),
  subject: body.subject,
  html: body.html ?? null,
  text: body.text ?? null,
  headers: showHeaders(body),
  unsubscribe: showUnsubscribe(body),
  alternatives: (body.alternatives ?? []).map(({ contentType, content }) => ({ content_type: contentType, content })),
  attachments: body.attachments.map(({ filename, contentType, contentId, content }) => ({
    filename,
    content_type: contentType,
    content_id: contentId ?? null,
    content,
  })),
});
