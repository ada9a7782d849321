import { z } from 'zod';
import { RULE_TABLE, type RuleName } from '../../../domain/analysis/analysis.ts';
import { BOUNCE_CATEGORIES } from '../../../domain/bounce/categories.ts';
import { environmentSchema } from '../../../domain/kernel/environment.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { HOLD_REASONS } from '../../../domain/message/events.ts';
import {
  type ExistingMessage,
  messageStatus,
  RECIPIENT_STATUSES,
  type Recipient,
} from '../../../domain/message/message.ts';
import {
  type Contents,
  findingsOf,
  isRemoved,
  type LoadedContents,
  type MessageBody,
  type MessageHead,
  type StoredHead,
} from '../../../domain/ports/contents.ts';
import { NO_TRACKING } from '../../../domain/tracking/tracking.ts';
import type { ListedRecipient } from '../../../projections/messages/outcomes.ts';
import type { ListedMessage } from '../../../projections/messages/queries.ts';
import { timeSchema } from '../../fields.ts';
import { trackingSchema } from '../domains/domain.ts';
import { smtpSchema } from '../events/event.ts';
import { serializeSmtp } from '../events/serialize-events.ts';

export const findingSchema = z
  .strictObject({
    rule: z.enum(Object.keys(RULE_TABLE) as [RuleName, ...RuleName[]]),
    severity: z.enum(['info', 'warning', 'error']),
    message: z.string(),
    field: z.string(),
    line: z.int().min(1).optional(),
    column: z.int().min(1).optional(),
    fix: z.string(),
  })
  .meta({ id: 'Finding' });

/** The state of a message's content, and the errors once it is no longer stored. */
const contentStateSchema = z
  .enum(['stored', 'expired', 'erased'])
  .nullable()
  .describe(
    '`expired`: the content was removed when its retention ended, together with sender, recipients, tags and metadata. ' +
      '`erased`: it was removed because a recipient was erased. null: it cannot be read at the moment: try again later.',
  );

/** @param found the entry in the vault; undefined if there is no entry or it cannot be read. */
const contentStateOf = (found: StoredHead | undefined): z.infer<typeof contentStateSchema> => {
  if (found?.kind === 'expired' || found?.kind === 'erased') return found.kind;
  return found?.kind === 'message' ? 'stored' : null;
};

/** Withholds sign-in links, which only their recipient may see. @throws {DomainError} `content_gone`. */
export const requireShowable = ({ confidential }: MessageBody): void => {
  if (confidential)
    throw new DomainError('content_gone', 'the message contains a sign-in link: its content is not shown');
};

/** @throws {DomainError} `content_gone`: removed, or confidential to the recipient; `unavailable`: cannot be read. */
export const requireContent = async (
  contents: Pick<Contents, 'get'>,
  { accepted: { contentId } }: ExistingMessage,
): Promise<MessageBody> => {
  const found = (await contents.get([contentId])).get(contentId);
  if (found?.kind === 'message') {
    requireShowable(found);
    return found;
  }
  if (found !== undefined && isRemoved(found))
    throw new DomainError('content_gone', `the content of the message was removed at ${found.at}`);
  throw new DomainError('unavailable', 'the contents of the message cannot be read at the moment: try again');
};

export const messageContentSchema = z
  .strictObject({
    object: z.literal('message_content'),
    id: z.string(),
    from: z.string(),
    from_name: z.string().nullable(),
    reply_to: z.array(z.string()),
    subject: z.string(),
    html: z.string().nullable(),
    text: z.string().nullable().describe('The plain text that is sent: from the request, or generated from the html.'),
    headers: z.record(z.string(), z.string()),
    /** null: the message has no `List-Unsubscribe`. */
    unsubscribe: z
      .union([z.literal('managed'), z.strictObject({ url: z.string().nullable(), mailto: z.string().nullable() })])
      .nullable(),
    alternatives: z
      .array(z.strictObject({ content_type: z.string(), content: z.string() }))
      .describe('Other forms of the message, such as an invitation or AMP, in base64.'),
    findings: z
      .array(findingSchema)
      .describe('Findings of the analysis. Without an analysis: why the html is not valid.'),
    attachments: z.array(
      z.strictObject({
        filename: z.string(),
        content_type: z.string(),
        content_id: z.string().nullable(),
        content: z.string(),
      }),
    ),
  })
  .meta({ id: 'MessageContent' });
export type SerializedMessageContent = z.infer<typeof messageContentSchema>;

const serializeUnsubscribe = ({ unsubscribe }: MessageBody): SerializedMessageContent['unsubscribe'] => {
  if (unsubscribe === undefined || unsubscribe === 'managed') return unsubscribe ?? null;
  return { url: unsubscribe.url ?? null, mailto: unsubscribe.mailto ?? null };
};

/** Joins the values of a repeated header with commas. */
const serializeHeaders = ({ headers, repeatedHeaders = [] }: MessageBody): SerializedMessageContent['headers'] => {
  const joined = { ...headers };
  for (const { name, value } of repeatedHeaders) joined[name] = `${joined[name]}, ${value}`;
  return joined;
};

/** @param text the plain text that is sent; empty: the message has none. */
export const serializeMessageContent = (
  messageId: string,
  body: MessageBody,
  text: string,
): SerializedMessageContent => ({
  object: 'message_content',
  id: messageId,
  from: body.from.address,
  from_name: body.from.name ?? null,
  reply_to: body.replyTo.map(({ address }) => address),
  subject: body.subject,
  html: body.html ?? null,
  text: text || (body.text ?? null),
  headers: serializeHeaders(body),
  unsubscribe: serializeUnsubscribe(body),
  alternatives: (body.alternatives ?? []).map(({ contentType, content }) => ({ content_type: contentType, content })),
  findings: findingsOf(body).map((finding) => ({ ...finding })),
  attachments: body.attachments.map(({ filename, contentType, contentId, content }) => ({
    filename,
    content_type: contentType,
    content_id: contentId ?? null,
    content,
  })),
});

const status = z.enum(RECIPIENT_STATUSES);
export const recipientKindSchema = z.enum(['to', 'cc', 'bcc']);

/** A recipient in a list. The address is null once the content has expired. */
const listedRecipientSchema = z.strictObject({
  id: z.string(),
  address: z.string().nullable(),
  kind: recipientKindSchema,
  status,
  complained: z.boolean(),
  unsubscribed: z.boolean(),
  opened: z.boolean().describe('true: a person opened it. Always false without open tracking.'),
  clicked: z.boolean().describe('true: a person followed a link in it. Always false without click tracking.'),
});

const recipientSchema = listedRecipientSchema.extend({
  reason: z.string().nullable(),
  /** Category of the last refusal; null: none, or unknown. */
  category: z.enum(BOUNCE_CATEGORIES).nullable(),
  next_attempt_at: timeSchema().nullable(),
  held: z
    .strictObject({
      reason: z.enum(HOLD_REASONS),
      since: timeSchema(),
      until: timeSchema().describe('Latest time of the next check.'),
    })
    .nullable()
    .describe('Reason for which a due recipient is held. null: it is not held.'),
  smtp: smtpSchema.nullable(),
  resent_as: z
    .string()
    .nullable()
    .describe('Id of the message that was sent to this recipient instead. null: not sent again.'),
  updated_at: timeSchema(),
});

export const messageHeadSchemas = {
  id: z.string(),
  object: z.literal('message'),
  message_id: z.string(),
  status,
  environment: environmentSchema,
  created_at: timeSchema(),
};

const messageFields = {
  ...messageHeadSchemas,
  partial: z.boolean(),
  domain_id: z.string(),
  api_key_id: z.string(),
  stream: z.enum(['transactional', 'bulk']),
  size_bytes: z.number().int(),
  expires_at: timeSchema(),
  template: z
    .strictObject({ id: z.string(), version: z.number().int() })
    .nullable()
    .describe('Template that the message was rendered from. null: no template.'),
  /** Time to send it; null: immediately. */
  scheduled_at: timeSchema().nullable(),
  from: z.string().nullable(),
  subject: z.string().nullable(),
  tags: z.array(z.strictObject({ name: z.string(), value: z.string() })),
  metadata: z.record(z.string(), z.string()),
  content: contentStateSchema,
};

export const listedMessageSchema = z
  .strictObject({ ...messageFields, recipients: z.array(listedRecipientSchema) })
  .meta({ id: 'ListedMessage' });
export type SerializedListedMessage = z.infer<typeof listedMessageSchema>;

export const messageSchema = z
  .strictObject({
    ...messageFields,
    topic_id: z.string().nullable(),
    attempts: z.number().int(),
    resend_of: z.string().nullable().describe('Id of the message that this one sends again. null: none.'),
    tracking: trackingSchema.describe('Tracking that was applied to the html.'),
    recipients: z.array(recipientSchema),
  })
  .meta({ id: 'Message' });
export type SerializedMessage = z.infer<typeof messageSchema>;

const serializeUse = (used: ListedMessage['template'] | undefined): SerializedMessage['template'] =>
  used === undefined || used === null ? null : { id: used.templateId, version: used.version };

const messageIn = (found: StoredHead | undefined): MessageHead | null => (found?.kind === 'message' ? found : null);

/** Personal data from the vault; null or empty once it has expired, or while it cannot be read. */
const personal = (body: MessageHead | null, found: StoredHead | undefined) => ({
  from: body?.from.address ?? null,
  subject: body?.subject ?? null,
  tags: body === null ? [] : body.tags.map(({ name, value }) => ({ name, value })),
  metadata: body === null ? {} : { ...body.metadata },
  content: contentStateOf(found),
});

const addressOf = (body: MessageHead | null, recipientId: string): string | null =>
  body?.recipients.find(({ id }) => id === recipientId)?.address ?? null;

const serializeHeld = ({ held }: Recipient): SerializedMessage['recipients'][number]['held'] =>
  held === null ? null : { reason: held.reason, since: held.since, until: held.until };

export const listedRecipient = (recipient: Recipient): ListedRecipient => ({
  id: recipient.id,
  kind: recipient.kind,
  domain: recipient.domain,
  status: recipient.status,
  complained: recipient.complained,
  unsubscribed: recipient.unsubscribed !== null || recipient.leftTopic !== null,
  opened: recipient.engagement.openedAt !== null,
  clicked: recipient.engagement.clickedAt !== null,
});

type SerializedListedRecipient = SerializedListedMessage['recipients'][number];

const serializeListedRecipient = (
  { id, kind, status, complained, unsubscribed, opened, clicked }: ListedRecipient,
  body: MessageHead | null,
): SerializedListedRecipient => ({
  id,
  address: addressOf(body, id),
  kind,
  status,
  complained,
  unsubscribed,
  opened,
  clicked,
});

const serializeRecipient = (
  recipient: Recipient,
  body: MessageHead | null,
  contents: LoadedContents,
): SerializedMessage['recipients'][number] => ({
  ...serializeListedRecipient(listedRecipient(recipient), body),
  reason: recipient.reason,
  category: recipient.category,
  next_attempt_at: recipient.nextAttemptAt,
  held: serializeHeld(recipient),
  smtp: recipient.smtp === null ? null : serializeSmtp(recipient.smtp, contents),
  resent_as: recipient.resentAs,
  updated_at: recipient.updatedAt,
});

export const serializeMessage = (message: ExistingMessage, contents: LoadedContents): SerializedMessage => {
  const { accepted, recipients } = message;
  const found = contents.get(accepted.contentId);
  const body = messageIn(found);
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
    template: serializeUse(accepted.template),
    topic_id: accepted.topic?.id ?? null,
    size_bytes: accepted.sizeBytes,
    expires_at: message.expiresAt,
    scheduled_at: message.schedule?.current ?? null,
    ...personal(body, found),
    attempts: message.attempts,
    resend_of: accepted.resendOf ?? null,
    tracking: { ...(accepted.tracking ?? NO_TRACKING) },
    recipients: recipients.map((recipient) => serializeRecipient(recipient, body, contents)),
  };
};

export const serializeListedMessage = (
  message: ListedMessage,
  found: StoredHead | undefined,
): SerializedListedMessage => {
  const body = messageIn(found);
  return {
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
    template: serializeUse(message.template),
    size_bytes: message.sizeBytes,
    expires_at: message.expiresAt,
    scheduled_at: message.scheduledAt,
    ...personal(body, found),
    recipients: message.recipients.map((recipient) => serializeListedRecipient(recipient, body)),
  };
};
