import { z } from 'zod';
import type { Finding } from '../../../domain/analysis/analysis.ts';
import { htmlFindings } from '../../../domain/analysis/judge.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import {
  isBase64,
  isOneClickHeader,
  isOwnHeader,
  listLinkProblem,
  mediaTypeOf,
} from '../../../domain/message/draft.ts';
import type { HtmlEntry, HtmlRule } from '../../../domain/organization/events.ts';
import type { Tracking } from '../../../domain/tracking/tracking.ts';
import type { HtmlChecker } from '../../../lib/html/html.ts';
import {
  holdsAddresses,
  isAttachmentType,
  isHeaderName,
  isMessageType,
  isSevenBit,
  type Mailbox,
  mailboxesIn,
  parseMailbox,
  type StoredAlternative,
  type StoredAttachment,
  type UnsubscribeWays,
} from '../../../lib/mime/mime.ts';
import type { RouteContext } from '../../endpoint.ts';
import { atMost, headerText, line, url } from '../../fields.ts';
import type { Problem } from '../../problems.ts';

/** One address without a display name. */
export const bareAddress = z.string().transform((text, context) => {
  const parsed = parseMailbox(text);
  if (typeof parsed !== 'string' && parsed.name === undefined) return parsed.address;
  const reason = typeof parsed === 'string' ? parsed : 'it has a display name';
  context.issues.push({ code: 'custom', message: `is not an email address: ${reason}`, input: text });
  return '';
});

const SENTENCE = 'must be "managed", or an object with url, mailto or both';

/** How recipients unsubscribe: by the sender's own means, or by links of this service, one for each recipient. */
export const unsubscribe = z.union(
  [
    z.literal('managed'),
    z
      .strictObject({ url: url.optional(), mailto: bareAddress.optional() })
      .refine((ways) => ways.url !== undefined || ways.mailto !== undefined, SENTENCE)
      .transform(
        ({ url: link, mailto: address }): UnsubscribeWays => ({
          ...(link === undefined ? {} : { url: link }),
          ...(address === undefined ? {} : { mailto: address }),
        }),
      ),
  ],
  SENTENCE,
);

/** Tracking of one message. Fields override the domain's defaults. */
export const tracking = z
  .strictObject({
    opens: z.boolean().optional().describe('true: add an invisible image that counts openings.'),
    clicks: z
      .boolean()
      .optional()
      .describe('true: track clicks on links, except links with `data-outbox-track="off"`.'),
  })
  .transform(
    ({ opens, clicks }): Partial<Tracking> => ({
      ...(opens === undefined ? {} : { opens }),
      ...(clicks === undefined ? {} : { clicks }),
    }),
  );

/** `References` of a thread of two hundred messages; folded when sent. */
const HEADER_CHARACTERS_MAX = 16_000;
/** RFC 5322 §2.1.1 bounds a line, and a word cannot be folded. */
const HEADER_WORD_CHARACTERS_MAX = 998;
/** Limit for all headers together. Postfix accepts 100 kB, sendmail 32 kB by default. */
const HEADERS_CHARACTERS_MAX = 64_000;
/** In one field. */
const MAILBOXES_MAX = 100;
const HEADERS_MAX = 50;
const TAGS_MAX = 10;
const TAG_CHARACTERS_MAX = 256;
const METADATA_KEYS_MAX = 50;
const METADATA_BYTES_MAX = 10_000;
/** Fifty addresses of the greatest length (RFC 5321 §4.5.3.1). */
const SEVERAL_CHARACTERS_MAX = 12_800;

type Context = z.core.ParsePayload<unknown>;
type Path = PropertyKey[];

const complain = (context: Context, message: string, path: Path): Mailbox => {
  context.issues.push({ code: 'custom', message, path, input: context.value });
  return { address: '' };
};

const readMailbox = (text: unknown, context: Context, path: Path): Mailbox => {
  if (text === undefined) return complain(context, 'is required', path);
  if (typeof text !== 'string') return complain(context, 'must be a string', path);
  const parsed = parseMailbox(text);
  return typeof parsed === 'string' ? complain(context, `is not an email address: ${parsed}`, path) : parsed;
};

/** One address, with or without a name. */
export const mailbox = z
  .unknown()
  .transform((text, context) => readMailbox(text, context, []))
  .meta({ type: 'string' });

/** Whether invalid text is several addresses in one string, as in a header field. */
const isSeveral = (text: string): boolean =>
  text.length < SEVERAL_CHARACTERS_MAX && text.split(/[,;]/).filter((part) => part.includes('@')).length > 1;

const readOneOf = (text: unknown, context: Context, path: Path): Mailbox => {
  const several = typeof text === 'string' && isSeveral(text) && typeof parseMailbox(text) === 'string';
  return several
    ? complain(
        context,
        'is not an email address: to send to several addresses, use an array with one address per item',
        path,
      )
    : readMailbox(text, context, path);
};

const readMailboxes = (value: unknown, context: Context): readonly Mailbox[] => {
  if (!Array.isArray(value)) {
    const isOther = value !== undefined && typeof value !== 'string';
    return [isOther ? complain(context, 'must be a string or an array of strings', []) : readOneOf(value, context, [])];
  }
  if (value.length === 0) complain(context, 'must not be empty', []);
  // Too many: none is parsed.
  if (value.length > MAILBOXES_MAX) return [complain(context, `must have at most ${MAILBOXES_MAX} items`, [])];
  return value.map((text, index) => readOneOf(text, context, [index]));
};

/** One address or an array of them; every invalid one is reported. */
export const mailboxes = z
  .unknown()
  .transform(readMailboxes)
  .meta({ anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' }, minItems: 1 }] });

const isNone = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** The same where it may be absent, which an empty array means too. */
export const mailboxesOrNone = z
  .unknown()
  .transform((value, context) => (value === undefined || isNone(value) ? undefined : readMailboxes(value, context)))
  .optional()
  .meta({ anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] });

const hasLongWord = (value: string): boolean =>
  value.length > HEADER_WORD_CHARACTERS_MAX &&
  value.split(/[ \t]+/).some((word) => word.length > HEADER_WORD_CHARACTERS_MAX);

/**
 * The problem with a header field; null: it is fine.
 * @param isOneClick whether the message has `List-Unsubscribe-Post`.
 */
export const headerProblem = (name: string, value: string, isOneClick = false): string | null => {
  if (!isHeaderName(name)) return 'is not a header name';
  if (isOwnHeader(name)) return 'is not allowed: the service writes this header';
  if (holdsAddresses(name) && !/^[ -~\t]*$/.test(value) && mailboxesIn(value) === null) {
    return 'must be email addresses separated by commas, each alone or as Name <address>';
  }
  return hasLongWord(value)
    ? `must not have more than ${HEADER_WORD_CHARACTERS_MAX} characters without a space: a header line cannot be longer`
    : listLinkProblem(name, value, isOneClick);
};

export const headerValue = headerText(HEADER_CHARACTERS_MAX);

/** Names that differ in case only, which mail does not distinguish. */
const repeatedNames = (names: readonly string[]): readonly string[] => {
  const seen = new Set<string>();
  return names.filter((name) => {
    const isRepeated = seen.has(name.toLowerCase());
    seen.add(name.toLowerCase());
    return isRepeated;
  });
};

const charactersOf = (fields: Readonly<Record<string, string>>): number =>
  Object.entries(fields).reduce((sum, [name, value]) => sum + name.length + value.length, 0);

function* headersProblems(fields: Readonly<Record<string, string>>): Generator<readonly [message: string, path: Path]> {
  const names = Object.keys(fields);
  const isOneClick = names.some(isOneClickHeader);
  if (charactersOf(fields) > HEADERS_CHARACTERS_MAX) {
    yield [`must have at most ${HEADERS_CHARACTERS_MAX} characters in total`, []];
  }
  for (const name of repeatedNames(names)) yield ['is given twice: header names are case-insensitive', [name]];
  for (const [name, value] of Object.entries(fields)) {
    const problem = headerProblem(name, value, isOneClick);
    if (problem !== null) yield [problem, [name]];
  }
}

export const headersUpTo = (maximum: number) =>
  atMost(
    maximum,
    z.record(z.string(), headerValue).superRefine((value, context) => {
      for (const [message, path] of headersProblems(value)) context.addIssue({ code: 'custom', message, path });
    }),
  );

export const headers = headersUpTo(HEADERS_MAX);

export const tags = atMost(
  TAGS_MAX,
  z.array(z.strictObject({ name: line(TAG_CHARACTERS_MAX), value: line(TAG_CHARACTERS_MAX, 0) })).max(TAGS_MAX),
);

export const metadata = atMost(
  METADATA_KEYS_MAX,
  z.record(line(TAG_CHARACTERS_MAX), line(METADATA_BYTES_MAX, 0)).superRefine((value, context) => {
    if (Buffer.byteLength(JSON.stringify(value)) > METADATA_BYTES_MAX) {
      context.addIssue({ code: 'custom', message: `must be at most ${METADATA_BYTES_MAX} bytes of JSON` });
    }
  }),
);

/** Longer than any. */
const ID_CHARACTERS_MAX = 64;

export const topic = z
  .string()
  .max(ID_CHARACTERS_MAX)
  .optional()
  .describe(
    'Id of the topic of the message. Recipients can unsubscribe from one topic only; `unsubscribe` then defaults to `managed`.',
  );

/** Mail programs truncate larger bodies, and validation takes time in proportion. */
export const BODY_CHARACTERS_MAX = 1_000_000;

/** How the html of a send is checked. */
export interface HtmlPolicy {
  readonly checker: HtmlChecker;
  /** The rule of the entry that the message came through. */
  readonly rule: HtmlRule;
}

/** @param entry that the message came through. */
export const htmlPolicyOf = (
  { deps, auth }: Pick<RouteContext, 'deps' | 'auth'>,
  entry: HtmlEntry,
  { organizationId }: Pick<Caller, 'organizationId'>,
): HtmlPolicy => ({
  checker: deps.htmlChecker,
  rule: auth.keyCache.settingsOf(organizationId).htmlValidation[entry],
});

/** Invalid html is a finding of the analysis, not a refusal. */
export const UNCHECKED: HtmlPolicy = {
  rule: 'browser',
  checker: { check: async () => [], close: async () => undefined },
};

/** Organization whose share of the worker threads is used. */
type Sender = Pick<Caller, 'organizationId'>;

const HTML_PROBLEM = 'html must be valid HTML: ';

export const htmlProblems = async (
  { checker, rule }: HtmlPolicy,
  html: unknown,
  { organizationId }: Sender,
): Promise<readonly Problem[]> => {
  if (rule === 'browser') return [];
  if (typeof html !== 'string' || html.length > BODY_CHARACTERS_MAX) return [];
  const problems = await checker.check(html, organizationId);
  return problems.map(({ line, column, message }) => [
    'html',
    `${HTML_PROBLEM}line ${line}, column ${column}: ${message}`,
  ]);
};

/** Findings recorded for html that the rule of its entry accepts and the strict one does not. */
export const findingsIn = async (
  { checker, rule }: HtmlPolicy,
  html: string | undefined,
  { organizationId }: Sender,
): Promise<readonly Finding[]> =>
  rule === 'strict' || html === undefined ? [] : htmlFindings(await checker.check(html, organizationId));

/** Whether all problems are about the HTML. */
export const isHtmlAlone = (problems: readonly Problem[]): boolean =>
  problems.every(([, sentence]) => sentence.startsWith(HTML_PROBLEM));

/** Fields of a send that hold files, and the message in other forms. */

export const ATTACHMENTS_MAX = 20;
const FILENAME_CHARACTERS_MAX = 255;
const CONTENT_ID = /^[\w!#$%&'*+/=?^`{|}~.@-]{1,200}$/;
const CONTENT_ID_SENTENCE = 'must be 1 to 200 letters, digits or characters such as . _ - @';

/** Invitations and AMP are one each. */
export const ALTERNATIVES_MAX = 5;
/** 300 kB: an invitation is a hundredth of it. The digest of the request is made of it in one turn. */
const ALTERNATIVE_CHARACTERS_MAX = 400_000;
/** AMP comes before the html, so that a reader of both prefers the html only where it shows no AMP. */
const BEFORE_HTML = /^text\/x-amp-html\b/i;

export const alternatives = atMost(
  ALTERNATIVES_MAX,
  z
    .array(
      z
        .strictObject({
          content_type: z
            .string()
            .refine(isAttachmentType, 'must be a media type such as text/calendar, but not multipart/* or message/*')
            .describe('Media type with its parameters: `text/calendar; charset=utf-8; method=REQUEST`.'),
          content: z
            .string()
            .max(ALTERNATIVE_CHARACTERS_MAX)
            .refine(isBase64, 'must be base64 (RFC 4648 §4) without line breaks')
            .describe('Base64 (RFC 4648 §4), padded, without line breaks.'),
        })
        .transform(
          ({ content_type: contentType, content }): StoredAlternative => ({
            contentType,
            content,
            disposition: 'none',
            beforeHtml: BEFORE_HTML.test(contentType),
          }),
        ),
    )
    .max(ALTERNATIVES_MAX),
);

/** Attached messages are copied unchanged and scanned twice, which takes 10 ms at this size. */
export const MESSAGE_BASE64_MAX = 6_000_000;

interface AttachedMessages {
  readonly contentType: string;
  readonly content: string;
}

/** Why one cannot be attached as a message, which no server may encode (RFC 2046 §5.2.1). */
const messageProblems = (attached: readonly AttachedMessages[]): readonly (string | null)[] => {
  let characters = 0;
  return attached.map(({ contentType, content }) => {
    if (!isMessageType(contentType)) return null;
    characters += content.length;
    const isFit = characters <= MESSAGE_BASE64_MAX && isSevenBit(Buffer.from(content, 'base64').toString('latin1'));
    return isFit ? null : 'is a message that is too large, or not ASCII lines: attach it as application/octet-stream';
  });
};

export const attachments = atMost(
  ATTACHMENTS_MAX,
  z
    .array(
      z
        .strictObject({
          filename: line(FILENAME_CHARACTERS_MAX).describe('File name that recipients see.'),
          content: z
            .string()
            .refine(isBase64, 'must be base64 (RFC 4648 §4) without line breaks')
            .describe('Base64 (RFC 4648 §4), padded, without line breaks.'),
          content_type: z
            .string()
            .refine(
              (type) => isAttachmentType(type) || isMessageType(type),
              'must be a media type such as application/pdf, but not multipart/* or message/* (except message/rfc822)',
            )
            .optional()
            .describe('Media type. Default: by the extension of `filename`.'),
          content_id: z
            .string()
            .refine((id) => CONTENT_ID.test(id), CONTENT_ID_SENTENCE)
            .optional()
            .describe('Name by which the HTML refers to an inline image: `cid:logo` for `logo`.'),
        })
        .transform(
          ({ filename, content, content_type: contentType, content_id: contentId }): StoredAttachment => ({
            filename,
            contentType: contentType ?? mediaTypeOf(filename),
            content,
            ...(contentId === undefined ? {} : { contentId }),
          }),
        ),
    )
    .max(ATTACHMENTS_MAX)
    .superRefine((attached, context) => {
      for (const [index, message] of messageProblems(attached).entries())
        if (message !== null) context.addIssue({ code: 'custom', message, path: [index] });
    }),
);
