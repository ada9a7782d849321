import { load } from '../../commands/execute.ts';
import type { CustomerEvent } from '../../domain/customer-events/customer-events.ts';
import { type ExistingInbound, inbound } from '../../domain/inbound/inbound.ts';
import type { EventStore } from '../../domain/kernel/event-store.ts';
import { inboundStream } from '../../domain/kernel/streams.ts';
import type { Contents, InboundBody } from '../../domain/ports/contents.ts';
import { type Mailbox, type MailParser, mailboxText, numberedParts } from '../../lib/mime/mime.ts';
import { serializeInboundFacts } from '../resources/events/serialize-events.ts';

/** Received mail in the format of Postmark's inbound webhook. */

/**
 * Larger mail is posted without its attachments, which the API has. The JSON of a larger mail would hold the event loop for too
 * long while it is made, signed or hashed.
 */
const ATTACHMENTS_MAIL_BYTES_MAX = 5_000_000;
/** Longer texts and html are left out too. People and newsletters write a tenth of it. */
const BODY_CHARACTERS_MAX = 1_000_000;

interface PostmarkAttachment {
  readonly Name: string;
  /** Base64. */
  readonly Content: string;
  readonly ContentType: string;
  readonly ContentLength: number;
  readonly ContentID: string;
}

/** The part after the plus: `42` of `support+42@example.com`. */
const mailboxHash = (address: string): string => /^[^+]*\+(.*)@/.exec(address)?.[1] ?? '';

const fullOf = ({ address, name = '' }: Mailbox) => ({ Email: address, Name: name, MailboxHash: mailboxHash(address) });

const listOf = (mailboxes: readonly Mailbox[]): string => mailboxes.map(mailboxText).join(', ');

const EMPTY: Omit<InboundBody, 'inboundId'> = {
  kind: 'inbound',
  envelope: { from: '', to: '' },
  from: [],
  to: [],
  cc: [],
  replyTo: [],
  subject: '',
  date: null,
  internetMessageId: null,
  headers: [],
  text: null,
  html: null,
  sanitizedHtml: null,
  reply: null,
  attachments: [],
  problems: [],
};

const isLong = (text: string | null): boolean => text !== null && text.length > BODY_CHARACTERS_MAX;

const bodyIn = (text: string | null): string => (text === null || isLong(text) ? '' : text);

/** Fields that Postmark has, in its order. */
const mailOf = (id: string, body: typeof EMPTY, attachments: readonly PostmarkAttachment[]) => {
  const from = body.from[0] ?? { address: body.envelope.from };
  return {
    FromName: from.name ?? '',
    MessageStream: 'inbound',
    From: from.address,
    FromFull: fullOf(from),
    To: listOf(body.to),
    ToFull: body.to.map(fullOf),
    Cc: listOf(body.cc),
    CcFull: body.cc.map(fullOf),
    Bcc: '',
    BccFull: [],
    OriginalRecipient: body.envelope.to,
    Subject: body.subject,
    MessageID: id,
    ReplyTo: body.replyTo.map(({ address }) => address).join(', '),
    MailboxHash: mailboxHash(body.envelope.to),
    Date: body.date ?? '',
    TextBody: bodyIn(body.text),
    HtmlBody: bodyIn(body.html),
    StrippedTextReply: body.reply ?? '',
    Tag: '',
    Headers: body.headers.map(({ name, value }) => ({ Name: name, Value: value })),
    Attachments: attachments,
  };
};

interface PostmarkInbound {
  readonly store: EventStore;
  readonly contents: Pick<Contents, 'get'>;
  readonly mailParser: Pick<MailParser, 'parseLeniently'>;
}

/** Cuts the attachments from the mail. None if it is too large, was removed or cannot be parsed in time. */
const attachmentsOf = async (
  { contents, mailParser }: PostmarkInbound,
  { rawId, bytes, organizationId }: ExistingInbound,
  { attachments }: typeof EMPTY,
): Promise<readonly PostmarkAttachment[]> => {
  if (attachments.length === 0 || bytes > ATTACHMENTS_MAIL_BYTES_MAX) return [];
  const raw = (await contents.get([rawId])).get(rawId);
  if (raw?.kind !== 'inbound_raw') return [];
  const parsed = await mailParser.parseLeniently([Buffer.from(raw.content, 'base64')], organizationId);
  if (parsed === null) return [];
  const parts = numberedParts(parsed);
  return attachments.flatMap(({ part, filename, contentType, bytes: size, contentId }) => {
    const content = parts[part]?.content;
    if (content === undefined) return [];
    const about = { ContentType: contentType, ContentLength: size, ContentID: contentId ?? '' };
    return [{ Name: filename ?? '', Content: content, ...about }];
  });
};

const shownOf = (body: InboundBody | null, hasContents: boolean): 'included' | 'removed' | 'hidden' => {
  if (!hasContents) return 'hidden';
  return body === null ? 'removed' : 'included';
};

/**
 * @returns what makes the body of a post about received mail. Without contents, because they were removed or the webhook may
 * not see them, all fields are empty.
 */
export const createPostmarkInbound = (deps: PostmarkInbound) => {
  const readBody = async ({ contentId }: ExistingInbound): Promise<InboundBody | null> => {
    const found = (await deps.contents.get([contentId])).get(contentId);
    return found?.kind === 'inbound' ? found : null;
  };

  return async ({ subjectId }: CustomerEvent, hasContents: boolean): Promise<object> => {
    const { state } = await load(deps.store, inbound, inboundStream(subjectId));
    if (state.status === 'absent') throw new Error(`the inbound message ${subjectId} is not in the log`);
    const found = hasContents ? await readBody(state) : null;
    const body = found ?? EMPTY;
    const attachments = await attachmentsOf(deps, state, body);
    return {
      ...mailOf(subjectId, body, attachments),
      Outbox: {
        domain_id: state.domainId,
        received_at: state.createdAt,
        ...serializeInboundFacts(state),
        contents: shownOf(found, hasContents),
        attachments_left_out: body.attachments.length - attachments.length,
        bodies_left_out: [body.text, body.html].filter(isLong).length,
      },
    };
  };
};
