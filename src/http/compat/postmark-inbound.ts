import type { Mailbox } from '../../lib/mime/mime.ts';
import { listOf, type PostedAttachment, type PostedMail } from './posted-mail.ts';

/** Received mail in the format of Postmark's inbound webhook. */

/** The part after the plus: `42` of `support+42@example.com`. */
const mailboxHash = (address: string): string => /^[^+]*\+(.*)@/.exec(address)?.[1] ?? '';

const fullOf = ({ address, name = '' }: Mailbox) => ({ Email: address, Name: name, MailboxHash: mailboxHash(address) });

const attachmentOf = ({ filename, content, contentType, bytes, contentId }: PostedAttachment) => ({
  Name: filename ?? '',
  Content: content,
  ContentType: contentType,
  ContentLength: bytes,
  ContentID: contentId ?? '',
});

/** Fields that Postmark has, in its order, and our own. */
export const postmarkInbound = ({ id, body, attachments, outbox }: PostedMail): object => {
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
    TextBody: body.text ?? '',
    HtmlBody: body.html ?? '',
    StrippedTextReply: body.reply ?? '',
    Tag: '',
    Headers: body.headers.map(({ name, value }) => ({ Name: name, Value: value })),
    Attachments: attachments.map(attachmentOf),
    Outbox: outbox,
  };
};
