import { z } from 'zod';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import {
  type Contents,
  findingsOf,
  isRemoved,
  type MessageBody,
  type StoredHead,
} from '../../domain/ports/contents.ts';
import { findingSchema } from './finding.ts';

/** The state of a message's content, and the errors once it is no longer stored. */
export const contentStateSchema = z
  .enum(['stored', 'expired', 'erased'])
  .nullable()
  .describe(
    '`expired`: it was removed when its retention ended, together with sender, recipients, tags and metadata. ' +
      '`erased`: likewise, because a recipient was erased. null: it cannot be read at the moment, which is a fault of the service.',
  );

/** @param found the entry in the vault; undefined if there is no entry or it cannot be read. */
export const contentStateOf = (found: StoredHead | undefined): z.infer<typeof contentStateSchema> => {
  if (found?.kind === 'expired' || found?.kind === 'erased') return found.kind;
  return found?.kind === 'message' ? 'stored' : null;
};

/** Withholds sign-in links, which only their recipient may see. @throws {DomainError} `content_gone`. */
export const requireShowable = ({ confidential }: MessageBody): void => {
  if (confidential)
    throw new DomainError('content_gone', 'the message lets its recipient sign in: its content is not shown');
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
  throw new DomainError('unavailable', 'the contents of the message cannot be read just now');
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
    text: z
      .string()
      .nullable()
      .describe('The plain text that is sent: the one of the request, or else the one derived from the html.'),
    headers: z.record(z.string(), z.string()),
    /** null: the message has no `List-Unsubscribe`. */
    unsubscribe: z
      .union([z.literal('managed'), z.strictObject({ url: z.string().nullable(), mailto: z.string().nullable() })])
      .nullable(),
    alternatives: z
      .array(z.strictObject({ content_type: z.string(), content: z.string() }))
      .describe('Other forms of the message, base64: an invitation, AMP.'),
    findings: z.array(findingSchema).describe('Findings of its analysis, or, without one, why its html is not valid.'),
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
