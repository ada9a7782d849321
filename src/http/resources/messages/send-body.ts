import { z } from 'zod';
import type { UsedTemplate, UseTemplate } from '../../../commands/template/use-template.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { MessageDraft } from '../../../domain/message/draft.ts';
import { TTL_SECONDS_DEFAULT } from '../../../domain/message/retry-schedule.ts';
import { ANALYSIS_POLICIES } from '../../../domain/organization/events.ts';
import { HTML_DEPTH_MAX } from '../../../lib/html/html.ts';
import {
  canonicalAddress,
  isListUnsubscribe,
  isReplyTo,
  type Mailbox,
  parseMailbox,
  type StoredAttachment,
} from '../../../lib/mime/mime.ts';
import { headerText, text, timeField } from '../../fields.ts';
import { detailsOf, type Problem, parseBody } from '../../problems.ts';
import { localeField, variablesField } from '../templates/template.ts';
import {
  ATTACHMENTS_MAX,
  alternatives,
  attachments,
  BODY_CHARACTERS_MAX,
  type HtmlPolicy,
  headers,
  htmlProblems,
  isHtmlAlone,
  mailbox,
  mailboxes,
  mailboxesOrNone,
  metadata,
  tags,
  topic,
  tracking,
  unsubscribe,
} from './send-fields.ts';

/** RFC 5322 §2.1.1. */
export const SUBJECT_CHARACTERS_MAX = 998;
const RECIPIENTS_MAX = 50;
const DUPLICATES =
  'An address that appears several times is one recipient, in the first of these fields that names it.';
/** Seven days. */
const TTL_SECONDS_MAX = 604_800;
/** Most receivers accept this much. */
const ENCODED_BYTES_MAX = 25_000_000;
/** Base64 in lines of 76 characters (RFC 2045 §6.8), from bytes and from unbroken base64. */
const ENCODED_PER_BYTE = (4 / 3) * (78 / 76);
const ENCODED_PER_CHARACTER = 78 / 76;

export const sendBody = z.strictObject({
  from: mailbox.describe('Sender: an address on the domain of the key, alone or as `Name <address>`.'),
  to: mailboxes.describe(
    `Recipients: one address, or an array of addresses. \`to\`, \`cc\` and \`bcc\` together: at most ${RECIPIENTS_MAX}. ${DUPLICATES}`,
  ),
  cc: mailboxesOrNone.describe('Additional recipients, visible to all recipients.'),
  bcc: mailboxesOrNone.describe('Additional recipients, hidden from the other recipients.'),
  reply_to: mailboxesOrNone.describe('Address for replies, or an array of addresses. Default: `from`.'),
  subject: headerText(SUBJECT_CHARACTERS_MAX).describe('Subject, one line.'),
  html: text(BODY_CHARACTERS_MAX)
    .optional()
    .describe(`HTML body: valid HTML, at most ${HTML_DEPTH_MAX} elements deep. Required if there is no \`text\`.`),
  text: text(BODY_CHARACTERS_MAX).optional().describe('Plain-text body. Default: generated from `html`.'),
  attachments: attachments
    .default([])
    .describe('Files to attach. The whole message can have at most 25 MB when encoded.'),
  alternatives: alternatives
    .default([])
    .describe(
      'Other forms of the message for mail programs that support them, such as an invitation (`text/calendar`) or AMP.',
    ),
  headers: headers
    .default({})
    .describe(
      'More headers by name, at most 50, such as `X-…`, `In-Reply-To` or `References`. Not allowed, because the service ' +
        'writes them: `From`, `To`, `Cc`, `Bcc`, `Subject`, `Date`, `Message-ID`, `DKIM-Signature`, `Return-Path`, ' +
        '`Received`, `Sender`, `Content-*`, `MIME-Version`. `Reply-To` and `List-Unsubscribe` are not allowed together with ' +
        'the fields `reply_to` and `unsubscribe`.',
    ),
  tags: tags.default([]).describe('Labels by which you find and count messages.'),
  metadata: metadata
    .default({})
    .describe(
      'Your own values by name, returned with the message and its events. At most 50 values and 10 kB as JSON.',
    ),
  stream: z
    .enum(['transactional', 'bulk'])
    .default('transactional')
    .describe(
      '`transactional`: mail that one recipient expects, such as a receipt. `bulk`: the same mail to many recipients; set `unsubscribe` for it.',
    ),
  unsubscribe: unsubscribe
    .optional()
    .describe(
      'How recipients unsubscribe: by your own URL or address, or by links of this service (`managed`), one per recipient. ' +
        'The header `List-Unsubscribe` contains it, and most mail programs show it as a button; the text is not changed. A ' +
        'recipient who uses a managed link is suppressed: for bulk mail if `stream` is `bulk`, otherwise for all mail.',
    ),
  tracking: tracking
    .optional()
    .describe(
      'Tracking of openings and clicks. Omitted fields use the setting of the domain, which is off by default.',
    ),
  topic,
  scheduled_at: timeField()
    .optional()
    .describe('When to send: a time with a time zone, at most 30 days ahead. Default: immediately.'),
  ttl_seconds: z
    .int()
    .min(1)
    .max(TTL_SECONDS_MAX)
    .default(TTL_SECONDS_DEFAULT)
    .describe(
      'How long to attempt delivery, in seconds from the sending time. Afterwards, undelivered recipients are `expired`.',
    ),
  analysis: z
    .enum(ANALYSIS_POLICIES)
    .optional()
    .describe(
      '`warn`: analyze the content and return the findings. `block`: reject the message if there are errors. `off`: do not ' +
        'analyze. Default: `default_analysis` of the organization, which is `off` unless it was changed.',
    ),
});
export type SendBody = z.output<typeof sendBody>;

type SentFields = Readonly<Record<string, unknown>>;

export const isSent = (body: unknown): body is SentFields =>
  typeof body === 'object' && body !== null && !Array.isArray(body);

const countOf = (addresses: unknown): number => {
  if (Array.isArray(addresses)) return addresses.length;
  return addresses === undefined ? 0 : 1;
};

/** Fields that write a header; the header cannot be given beside its field. */
const WRITERS: Readonly<Record<string, (headerName: string) => boolean>> = {
  reply_to: isReplyTo,
  unsubscribe: isListUnsubscribe,
};

const writtenTwice = (sent: SentFields): readonly Problem[] => {
  const { headers: given } = sent;
  if (!isSent(given)) return [];
  return Object.entries(WRITERS).flatMap(([field, isItsHeader]) => {
    const names = sent[field] === undefined ? [] : Object.keys(given).filter(isItsHeader);
    return names.map(
      (name): Problem => ['headers', `headers.${name} is not allowed together with ${field}, which writes this header`],
    );
  });
};

/** Content ids must be unique: a `cid:` link names one part. */
const repeatedContentIds = ({ attachments: given }: SentFields): readonly Problem[] => {
  if (!Array.isArray(given) || given.length > ATTACHMENTS_MAX) return [];
  const firsts = new Map<unknown, number>();
  return given.flatMap((one: unknown, index): readonly Problem[] => {
    const id = isSent(one) ? one.content_id : undefined;
    const before = firsts.get(id);
    if (before === undefined) firsts.set(id, index);
    if (before === undefined || typeof id !== 'string') return [];
    return [['attachments', `attachments[${index}].content_id is already used by attachments[${before}]`]];
  });
};

/** Problems across fields. */
const crossProblems = (sent: SentFields, recipientsMax: number): readonly Problem[] => {
  const { html, text: plain, template, to, cc, bcc } = sent;
  const recipients = countOf(to) + countOf(cc) + countOf(bcc);
  const hasNoContent = html === undefined && plain === undefined && template === undefined;
  return [
    ...(hasNoContent ? [['html', 'html or text is required'] as const] : []),
    ...(recipients > recipientsMax
      ? [['to', `to, cc and bcc must have at most ${recipientsMax} addresses together`] as const]
      : []),
    ...writtenTwice(sent),
    ...repeatedContentIds(sent),
  ];
};

/** Finds problems of a send that its schema cannot find: across fields, and in its HTML. */
export const sendProblems =
  (policy: HtmlPolicy, recipientsMax = RECIPIENTS_MAX) =>
  async (body: unknown, sender: Pick<Caller, 'organizationId'>): Promise<readonly Problem[]> =>
    isSent(body) ? [...crossProblems(body, recipientsMax), ...(await htmlProblems(policy, body.html, sender))] : [];

const requireSize = ({ html = '', text: plain = '', attachments: files, alternatives = [] }: MessageDraft): void => {
  const bytes =
    (Buffer.byteLength(html) + Buffer.byteLength(plain)) * ENCODED_PER_BYTE +
    [...files, ...alternatives].reduce((sum, { content }) => sum + content.length * ENCODED_PER_CHARACTER, 0);
  if (bytes > ENCODED_BYTES_MAX) {
    throw new DomainError('body_too_large', `the encoded message is larger than ${ENCODED_BYTES_MAX} bytes`);
  }
};

/** Parts of a message that a JSON body cannot have; mail submitted by SMTP can. */
export interface BeyondBody extends Pick<MessageDraft, 'shown' | 'alternatives' | 'repeatedHeaders'> {
  /** By attachment, in order. */
  readonly attached?: readonly Partial<Pick<StoredAttachment, 'contentType' | 'disposition'>>[];
}

type Recipients = MessageDraft['recipients'];

/** A mailbox that is named several times is one recipient, as it was named first. */
const oncePerMailbox = (recipients: Recipients): Recipients => {
  const firsts = new Map<string, Recipients[number]>();
  for (const one of recipients) {
    const mailbox = canonicalAddress(one.address);
    if (!firsts.has(mailbox)) firsts.set(mailbox, one);
  }
  return [...firsts.values()];
};

/** @throws {DomainError} `body_too_large`. */
export const draftOf = (body: SendBody, { attached = [], ...beyond }: BeyondBody = {}): MessageDraft => {
  const {
    to,
    cc = [],
    bcc = [],
    reply_to: replyTo = [],
    ttl_seconds: ttlSeconds,
    html,
    text: plain,
    unsubscribe: ways,
    tracking: tracked,
    scheduled_at: scheduledAt,
    analysis: _,
    topic: about,
    attachments: files,
    alternatives: forms,
    ...rest
  } = body;
  const draft: MessageDraft = {
    ...rest,
    ...(forms.length === 0 ? {} : { alternatives: forms }),
    ...beyond,
    attachments: files.map((file, index) => ({ ...file, ...attached[index] })),
    replyTo,
    ttlSeconds,
    recipients: oncePerMailbox([
      ...to.map((one) => ({ ...one, kind: 'to' as const })),
      ...cc.map((one) => ({ ...one, kind: 'cc' as const })),
      ...bcc.map((one) => ({ ...one, kind: 'bcc' as const })),
    ]),
    ...(html === undefined ? {} : { html }),
    ...(plain === undefined ? {} : { text: plain }),
    ...(scheduledAt === undefined ? {} : { scheduledAt }),
    ...(ways === undefined && about === undefined ? {} : { unsubscribe: ways ?? 'managed' }),
    ...(tracked === undefined ? {} : { tracking: tracked }),
  };
  requireSize(draft);
  return draft;
};

/** A send whose text is rendered from a template: it names the template instead of subject, html and text. */

const ID_CHARACTERS_MAX = 64;

const template = z.strictObject({
  id: z.string().min(1).max(ID_CHARACTERS_MAX).describe('Id or alias of a template.'),
  version: z.int().min(1).optional().describe('Number of the version. Default: the published version.'),
  locale: localeField.optional(),
  variables: variablesField.default({}).describe('Values of the variables, by name.'),
});

export const sendRequestBody = sendBody.extend({
  from: mailbox
    .optional()
    .describe(
      'Sender: an address on the domain of the key, alone or as `Name <address>`. Required, unless the template has one.',
    ),
  subject: sendBody.shape.subject.optional().describe('Subject, one line. Required without a template.'),
  template: template
    .optional()
    .describe(
      'Template that the subject, html and text come from. It is rendered when the message is accepted: later versions do not change the message.',
    ),
});
export type SendRequestBody = z.output<typeof sendRequestBody>;

const RENDERED = ['subject', 'html', 'text'] as const;

const templateProblems = (sent: SentFields): readonly Problem[] => {
  if (sent.template === undefined) {
    return (['from', 'subject'] as const).flatMap((field): readonly Problem[] =>
      sent[field] === undefined ? [[field, `${field} is required`]] : [],
    );
  }
  return RENDERED.flatMap((field): readonly Problem[] =>
    sent[field] === undefined ? [] : [[field, `${field} is not allowed with a template: the template sets it`]],
  );
};

/** Finds problems of a send that its schema cannot find. */
export const sendRequestProblems =
  (policy: HtmlPolicy) =>
  async (body: unknown, caller: Pick<Caller, 'organizationId'>): Promise<readonly Problem[]> => [
    ...(await sendProblems(policy)(body, caller)),
    ...(isSent(body) ? templateProblems(body) : []),
  ];

/** Problems reported for one message of a batch. */
const PROBLEMS_MAX = 20;

/**
 * Validates one message of a batch as a single send is validated.
 * @throws {DomainError} `invalid_request`, `invalid_html`.
 */
export const readSend = async (
  policy: HtmlPolicy,
  sent: unknown,
  sender: Pick<Caller, 'organizationId'>,
): Promise<SendRequestBody> => {
  if (!isSent(sent)) throw new DomainError('invalid_request', 'a message must be an object');
  const body = parseBody(sendRequestBody, sent);
  const problems = [...body.problems, ...(await sendRequestProblems(policy)(body.data, sender))];
  if (problems.length === 0 && body.output !== undefined) return body.output;
  const code = isHtmlAlone(problems) ? 'invalid_html' : 'invalid_request';
  throw new DomainError(code, 'the message is invalid: see details', { details: detailsOf(problems, PROBLEMS_MAX) });
};

/** A complete body, and the template that it was rendered from. */
interface CompleteSend {
  readonly body: SendBody;
  readonly template: Pick<UsedTemplate, 'templateId' | 'version'> | null;
  /** Why it cannot be sent just now, in which case the body is a stand-in: a repeat may have been accepted before. */
  readonly refusal: DomainError | null;
}

/** An address that a template makes. @throws {DomainError} `template_variables_invalid`. */
export const mailboxOfTemplate = (field: 'from' | 'reply_to', text: string): Mailbox => {
  const parsed = parseMailbox(text);
  if (typeof parsed !== 'string') return parsed;
  const problem = `the ${field} of the template is not an email address with these variables: ${parsed}`;
  throw new DomainError('template_variables_invalid', problem, { details: { template: [problem] } });
};

const senderOf = (from: Mailbox | undefined, { rendered }: UsedTemplate): Mailbox => {
  if (from !== undefined) return from;
  if (rendered.from !== undefined) return mailboxOfTemplate('from', rendered.from);
  const problem = 'from is required: the template does not set one';
  throw new DomainError('invalid_request', problem, { details: { from: [problem] } });
};

const requireSubject = ({ rendered: { subject } }: UsedTemplate): string => {
  if (subject !== '') return subject;
  const problem = 'the subject of the template is empty with these variables';
  throw new DomainError('template_variables_invalid', problem, { details: { template: [problem] } });
};

const filledIn = (body: Omit<SendRequestBody, 'template'>, used: UsedTemplate): SendBody => {
  const { html, text, replyTo } = used.rendered;
  const answers = body.reply_to ?? replyTo?.map((each) => mailboxOfTemplate('reply_to', each));
  return {
    ...body,
    from: senderOf(body.from, used),
    subject: requireSubject(used),
    html,
    ...(text === undefined ? {} : { text }),
    ...(answers === undefined ? {} : { reply_to: answers }),
  };
};

/** The body with what its template makes of it. */
export const completeSend = async (
  use: UseTemplate,
  { domain }: Pick<Caller, 'domain'>,
  sent: SendRequestBody,
): Promise<CompleteSend> => {
  // From and subject are there: its problems were looked for.
  if (sent.template === undefined) return { body: sent as SendBody, template: null, refusal: null };
  const { template: asked, ...body } = sent;
  const { id, version = null, locale = null, variables } = asked;
  try {
    const used = await use({ id, version, locale, variables });
    return {
      body: filledIn(body, used),
      template: { templateId: used.templateId, version: used.version },
      refusal: null,
    };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const standIn = { from: { address: `template@${domain.name}` }, subject: '-', text: '-' };
    return { body: { ...body, ...standIn }, template: null, refusal: error };
  }
};
