import type { ExistingInbound } from '../../domain/inbound/inbound.ts';
import type { Contents, InboundAttachment, InboundBody } from '../../domain/ports/contents.ts';
import { type Mailbox, type MailParser, mailboxText, numberedParts } from '../../lib/mime/mime.ts';
import { serializeInboundBody, serializeInboundFacts } from '../resources/events/serialize-events.ts';

/** A received mail as webhooks post it: whole, within bounds. */

/**
 * Larger mail is posted without its attachments, which the API has. The JSON of a larger mail would hold the event loop for too
 * long while it is made, signed or hashed.
 */
export const ATTACHMENTS_MAIL_BYTES_MAX = 5_000_000;
/** Longer texts and html are left out of the formats of other services. People and newsletters write a tenth of it. */
const FORMAT_CHARACTERS_MAX = 1_000_000;
/** The same of our own format, each: receivers of events expect small posts, and the API has them. */
const OWN_CHARACTERS_MAX = 256_000;

/** An attachment that a post has. */
export interface PostedAttachment extends InboundAttachment {
  /** Base64. */
  readonly content: string;
}

/** A mail as the formats of other services post it. */
export interface PostedMail {
  readonly id: string;
  readonly body: Omit<InboundBody, 'inboundId'>;
  readonly attachments: readonly PostedAttachment[];
  readonly verdicts: ExistingInbound['verdicts'];
  /** Facts that the other service does not have. */
  readonly outbox: object;
}

/** The mailboxes as a header writes them. */
export const listOf = (mailboxes: readonly Mailbox[]): string => mailboxes.map(mailboxText).join(', ');

/** A mail as it was found for a post. */
export interface FoundMail {
  readonly state: ExistingInbound;
  /** Null: it was removed, or is hidden. */
  readonly body: InboundBody | null;
  readonly shown: 'included' | 'removed' | 'hidden';
}

/** Takes the place of a mail that was removed. */
export const EMPTY: PostedMail['body'] = {
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

interface MailSource {
  readonly contents: Pick<Contents, 'get'>;
  readonly mailParser: Pick<MailParser, 'parseLeniently'>;
}

/** Cuts the attachments from the mail. None if it is too large, was removed or cannot be parsed in time. */
const attachmentsOf = async (
  { contents, mailParser }: MailSource,
  { rawId, bytes, organizationId }: ExistingInbound,
  { attachments }: PostedMail['body'],
): Promise<readonly PostedAttachment[]> => {
  if (attachments.length === 0 || bytes > ATTACHMENTS_MAIL_BYTES_MAX) return [];
  const raw = (await contents.get([rawId])).get(rawId);
  if (raw?.kind !== 'inbound_raw') return [];
  const parsed = await mailParser.parseLeniently([Buffer.from(raw.content, 'base64')], organizationId);
  if (parsed === null) return [];
  const parts = numberedParts(parsed);
  return attachments.flatMap((attachment) => {
    const content = parts[attachment.part]?.content;
    return content === undefined ? [] : [{ ...attachment, content }];
  });
};

const isLong = (text: string | null): boolean => text !== null && text.length > FORMAT_CHARACTERS_MAX;

/** The mail without what is too long for a format of another service. */
export const postedMail = async (deps: MailSource, { state, body: found, shown }: FoundMail): Promise<PostedMail> => {
  const body = found ?? EMPTY;
  const attachments = await attachmentsOf(deps, state, body);
  const long = [body.text, body.html].filter(isLong);
  return {
    id: state.inboundId,
    body: { ...body, text: isLong(body.text) ? null : body.text, html: isLong(body.html) ? null : body.html },
    attachments,
    verdicts: state.verdicts,
    outbox: {
      domain_id: state.domainId,
      received_at: state.createdAt,
      ...serializeInboundFacts(state),
      contents: shown,
      attachments_left_out: body.attachments.length - attachments.length,
      bodies_left_out: long.length,
    },
  };
};

const charactersOf = (headers: InboundBody['headers']): number =>
  headers.reduce((sum, { name, value }) => sum + name.length + value.length, 0);

/** The fields of a mail that a post in our own format has, and the names of those that are too large for it. */
export const postedFields = (body: PostedMail['body']) => {
  const { message_id: internetMessageId, ...fields } = serializeInboundBody(body);
  const texts = (['text', 'html', 'sanitized_html'] as const).filter(
    (name) => (fields[name]?.length ?? 0) > OWN_CHARACTERS_MAX,
  );
  const hasLongHeader = charactersOf(body.headers) > OWN_CHARACTERS_MAX;
  return {
    ...fields,
    internet_message_id: internetMessageId,
    headers: hasLongHeader ? [] : fields.headers,
    ...Object.fromEntries(texts.map((name) => [name, null])),
    left_out: [...(hasLongHeader ? (['headers'] as const) : []), ...texts],
  };
};
