import type { InboundMessage } from '../../../sdk/src/index.ts';
import { ATTACHMENTS_MAIL_BYTES_MAX, EMPTY, type PostedMail, postedFields } from '../../http/compat/posted-mail.ts';
import { postmarkInbound } from '../../http/compat/postmark-inbound.ts';
import { sendgridInbound } from '../../http/compat/sendgrid-inbound.ts';
import { CommandFailed } from '../terminal.ts';
import { type Service, ServiceRefused } from './service.ts';

/** Posts with a received mail, as the service makes them for its webhooks: the mail is read by the API. */

const GONE = 410;
const LINKS = '/inbound-attachments/';

/** @returns null: its contents were removed. */
const findMail = async ({ ask }: Service, id: string): Promise<InboundMessage | null> => {
  try {
    return (await ask<InboundMessage>('GET', `/v1/inbound/${encodeURIComponent(id)}`)).body;
  } catch (error) {
    if (error instanceof ServiceRefused && error.status === GONE) return null;
    throw error;
  }
};

type Mailboxes = InboundMessage['from'];

const mailboxesOf = (mailboxes: Mailboxes): PostedMail['body']['from'] =>
  mailboxes.map(({ address, name }) => (name === null ? { address } : { address, name }));

const bodyOf = (mail: InboundMessage): PostedMail['body'] => ({
  kind: 'inbound',
  envelope: mail.envelope ?? EMPTY.envelope,
  from: mailboxesOf(mail.from),
  to: mailboxesOf(mail.to),
  cc: mailboxesOf(mail.cc),
  replyTo: mailboxesOf(mail.reply_to),
  subject: mail.subject ?? '',
  date: mail.date,
  internetMessageId: mail.message_id,
  headers: mail.headers,
  text: mail.text,
  html: mail.html,
  sanitizedHtml: mail.sanitized_html,
  reply: mail.reply,
  attachments: mail.attachments.map(({ filename, content_type, size_bytes, content_id }, part) => ({
    part,
    filename,
    contentType: content_type,
    bytes: size_bytes,
    contentId: content_id,
  })),
  problems: mail.problems,
});

/** PUBLIC_URL may lead to a place that this machine does not reach: only the path of the link is used. */
const download = async ({ target, signal }: Service, link = ''): Promise<string> => {
  const path = link.slice(link.lastIndexOf(LINKS));
  const response = await fetch(`${target.url.replace(/\/+$/, '')}${path}`, { signal });
  if (!response.ok) throw new CommandFailed(`an attachment could not be downloaded: status ${response.status}`);
  return Buffer.from(await response.arrayBuffer()).toString('base64');
};

/** The mail with its attachments, unless it is too large for them. */
const postedOf = async (service: Service, mail: InboundMessage): Promise<PostedMail> => {
  const body = bodyOf(mail);
  const wanted = mail.size_bytes > ATTACHMENTS_MAIL_BYTES_MAX ? [] : body.attachments;
  const attachments = await Promise.all(
    wanted.map(async (one) => ({ ...one, content: await download(service, mail.attachments[one.part]?.url) })),
  );
  const { id, domain_id, received_at, size_bytes, verdicts, marked, automatic, action, route_id } = mail;
  const facts = { domain_id, received_at, size_bytes, verdicts, marked, automatic, action, route_id };
  const leftOut = { attachments_left_out: body.attachments.length - attachments.length, bodies_left_out: 0 };
  const { in_reply_to_message_id } = mail;
  return {
    id,
    body,
    attachments,
    verdicts,
    outbox: { ...facts, in_reply_to_message_id, contents: 'included', ...leftOut },
  };
};

const NO_VERDICTS = { spf: 'none', dkim: 'none', dmarc: 'none', arc: 'none' } as const;

const removedOf = (id: string): PostedMail => ({
  id,
  body: EMPTY,
  attachments: [],
  verdicts: NO_VERDICTS,
  outbox: { contents: 'removed' },
});

interface MailEvent {
  readonly data: object;
}

const ownPost = (event: MailEvent, mail: InboundMessage | null): object => {
  const contents = mail === null ? 'removed' : 'included';
  const fields = postedFields(mail === null ? EMPTY : bodyOf(mail));
  return {
    ...event,
    data: { ...event.data, ...(mail === null ? {} : { attachments: mail.attachments }), ...fields, contents },
  };
};

/** @throws {CommandFailed} the mail cannot be read. */
export const mailBody = async (
  service: Service,
  event: MailEvent,
  format: 'outbox' | 'postmark_inbound' | 'sendgrid_inbound',
): Promise<{ readonly content: string | Uint8Array; readonly contentType?: string }> => {
  const { inbound_id: id } = event.data as { readonly inbound_id: string };
  const mail = await findMail(service, id);
  if (format === 'outbox') return { content: JSON.stringify(ownPost(event, mail)) };
  const posted = mail === null ? removedOf(id) : await postedOf(service, mail);
  return format === 'sendgrid_inbound' ? sendgridInbound(posted) : { content: JSON.stringify(postmarkInbound(posted)) };
};
