import addressparser from 'nodemailer/lib/addressparser';
import { escapeHtml } from '../html/html.ts';
import { bytesInCharset } from './charset.ts';
import { isMessageType, isSevenBit, mailboxText } from './email-address.ts';
import { decodeWords } from './encoded-words.ts';
import {
  type ContentField,
  type HeaderField,
  type MimeEntity,
  type OnProblem,
  parameterOf,
  readMimeTree,
  reject,
  Unreadable,
} from './mime-tree.ts';
import { holdsAddresses } from './write-headers.ts';

/**
 * Contents of a raw message (RFC 5322, MIME). Nothing is checked or bounded beyond its size: callers that act on it
 * must do that.
 */

/** Address as written, with encoded words decoded. */
export interface WrittenAddress {
  /** Empty: no name. */
  readonly name: string;
  /** Empty: no address could be parsed. */
  readonly address: string;
}

/** A part that is not shown as text or html. */
export interface ParsedPart {
  readonly filename: string | null;
  /** Type with its parameters except the name, on one line. */
  readonly contentType: string;
  /** Without its angle brackets. */
  readonly contentId?: string;
  /** Null: no disposition. */
  readonly disposition: 'attachment' | 'inline' | null;
  /** For an attached message: true if it can be sent unchanged, see `isSevenBit`. */
  readonly isSevenBit?: boolean;
  /** Base64 of the bytes after transfer decoding. */
  readonly content: string;
}

/** Another form of the text and html with the same meaning (RFC 2046 §5.1.4): an invitation, AMP. */
export interface ParsedAlternative extends ParsedPart {
  readonly beforeHtml: boolean;
}

export interface ParsedMail {
  /** All headers in their order, unfolded, without HTAB, encoded words decoded. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  /** Members of groups are included. A group without members is a name without an address. */
  readonly from: readonly WrittenAddress[];
  readonly to: readonly WrittenAddress[];
  readonly cc: readonly WrittenAddress[];
  readonly replyTo: readonly WrittenAddress[];
  /** All parts shown as text, one below the other. Absent: no such part. */
  readonly text?: string;
  readonly html?: string;
  readonly alternatives: readonly ParsedAlternative[];
  readonly attachments: readonly ParsedPart[];
  /** Subtypes of its multiparts: `signed`. */
  readonly multiparts: readonly string[];
}

/** Contents of any message, as far as they can be read. */
export interface LenientMail extends ParsedMail {
  /** Phrases that say what could not be read; empty: all of it was. */
  readonly problems: readonly string[];
}

/** The parts by which attachments are numbered: other forms of the text first, such as an invitation. */
export const numberedParts = ({ alternatives, attachments }: ParsedMail): readonly ParsedPart[] => [
  ...alternatives,
  ...attachments,
];

/** The message was not parsed in time, or too many wait for it. */
export class MailParserUnavailable extends Error {
  override readonly name = 'MailParserUnavailable';
}

export interface MailParser {
  /**
   * @param chunks the message in pieces, which must not change any more.
   * @param organizationId organizations with waiting work take turns.
   * @returns the contents, or the reason why it cannot be read, as a phrase.
   * @throws {MailParserUnavailable}
   */
  parse(chunks: readonly Uint8Array[], organizationId: string): Promise<ParsedMail | string>;
  /**
   * Parses a message that was accepted, and skips what it cannot read.
   * @returns null: it takes too long to parse.
   * @throws {MailParserUnavailable}
   */
  parseLeniently(chunks: readonly Uint8Array[], organizationId: string): Promise<LenientMail | null>;
  close(): Promise<void>;
}

const QUOTES = /^>*/;
const SIGNATURE = '-- ';

interface Line {
  readonly depth: number;
  readonly text: string;
  /** The paragraph continues on the next line. */
  readonly isFlowed: boolean;
}

const readLine = (line: string, delSp: boolean): Line => {
  const depth = QUOTES.exec(line)?.[0].length ?? 0;
  const stuffed = line.slice(depth);
  const text = stuffed.startsWith(' ') ? stuffed.slice(1) : stuffed;
  const isFlowed = text.endsWith(' ') && text !== SIGNATURE;
  return { depth, text: isFlowed && delSp ? text.slice(0, -1) : text, isFlowed };
};

const quotedLine = (depth: number, text: string): string => {
  if (depth === 0) return text;
  return `${'>'.repeat(depth)}${text === '' ? '' : ' '}${text}`;
};

/**
 * Joins each paragraph of `format=flowed` text into one line (RFC 3676 §4). A line that ends in a space continues on
 * the next line with the same quote depth, except the line before a signature, which belongs to no paragraph.
 * @param delSp the space was added to break the line, and is not part of the text.
 */
const unflowed = (flowed: string, delSp: boolean): string => {
  const paragraphs: string[] = [];
  let open: Line | null = null;
  for (const each of flowed.split('\n')) {
    const line = readLine(each, delSp);
    const goesOn = open?.isFlowed === true && open.depth === line.depth && line.text !== SIGNATURE;
    if (goesOn) paragraphs.push(`${paragraphs.pop()}${line.text}`);
    else paragraphs.push(quotedLine(line.depth, line.text));
    open = line;
  }
  return paragraphs.join('\n');
};

/** Content shown at one place of a message: text, html, or both with the same meaning. Several items are stacked. */
interface ShownContent {
  readonly text: string[];
  readonly html: string[];
}

const asHtml = (text: string): string =>
  `<div>${escapeHtml(text.replace(/\n$/, '')).replaceAll('\n', '<br>\n')}</div>\n`;

interface BodyFrame {
  /** Everything through the end of `<body …>`. */
  readonly before: string;
  readonly content: string;
  /** Everything from `</body>` on. */
  readonly after: string;
}

/** Offset of the last `</body>`, or the length of the text without one. */
const bodyEnd = (html: string): number => {
  for (let at = html.lastIndexOf('</'); at >= 0; at = at === 0 ? -1 : html.lastIndexOf('</', at - 1)) {
    if (/^<\/body$/i.test(html.slice(at, at + '</body'.length))) return at;
  }
  return html.length;
};

/** Splits a document into its content and its frame. Only one of several joined documents keeps its frame. */
const framed = (html: string): BodyFrame => {
  const start = /<body[\s>]/i.exec(html);
  const from = start === null ? 0 : html.indexOf('>', start.index) + 1;
  if (from === 0) return { before: '', content: html, after: '' };
  const to = Math.max(from, bodyEnd(html));
  return { before: html.slice(0, from), content: html.slice(from, to), after: html.slice(to) };
};

/** Stacks documents in the frame of the first that has one. */
const joinedHtml = (pages: readonly string[]): string => {
  const [only] = pages;
  if (pages.length === 1 && only !== undefined) return only;
  const documents = pages.map(framed);
  const { before = '', after = '' } = documents.find((one) => one.before !== '') ?? {};
  return before + documents.map(({ content }) => content).join('\n') + after;
};

/**
 * The body of a message that shows several texts, one below the other. If only some are html, all become html. Text
 * alternatives for only some parts are left out: they would hide the rest from readers of the text.
 */
const joinedBody = (shown: readonly ShownContent[]): { readonly text?: string; readonly html?: string } => {
  const places = shown.filter(({ text, html }) => text.length + html.length > 0);
  if (places.length === 0) return {};
  const isHtml = places.some(({ html }) => html.length > 0);
  const isText = places.every(({ text }) => text.length > 0);
  return {
    ...(isText ? { text: places.flatMap(({ text }) => text).join('\n') } : {}),
    ...(isHtml
      ? { html: joinedHtml(places.flatMap(({ html, text }) => (html.length > 0 ? html : text.map(asHtml)))) }
      : {}),
  };
};

/** Contents of a message, sorted the way this service builds one. */
interface Contents {
  readonly shown: ShownContent[];
  readonly alternatives: ParsedAlternative[];
  readonly attachments: ParsedPart[];
}

const TOKEN = /^[\w!#$%&'*+.^`{|}~-]+$/;
/**
 * Parameters left out of the type: the name is kept separately, a boundary has no use, and the pieces of RFC 2231 form
 * one name.
 */
const NOT_OF_TYPE = /^(?:boundary|(?:name|filename)(?:\*.*)?)$/;

const parameterValue = (value: string): string => (TOKEN.test(value) ? value : `"${value.replace(/[\\"]/g, '\\$&')}"`);

const contentTypeOf = ({ type }: MimeEntity): string =>
  [
    type.value,
    ...type.parameters
      .filter(({ name }) => !NOT_OF_TYPE.test(name))
      .map(({ name, value }) => `${name}=${parameterValue(value)}`),
  ].join('; ');

const filenameOf = ({ type, disposition }: MimeEntity): string | null => {
  const name = parameterOf(disposition, 'filename') ?? parameterOf(type, 'name') ?? '';
  return name === '' ? null : decodeWords(name);
};

const dispositionOf = ({ disposition: { value } }: MimeEntity): ParsedPart['disposition'] => {
  if (value === '') return null;
  // RFC 2183 §2.8: an unknown disposition is an attachment.
  return value === 'inline' ? 'inline' : 'attachment';
};

const partOf = (entity: MimeEntity): ParsedPart => {
  const bytes = entity.bytes();
  const contentType = contentTypeOf(entity);
  return {
    filename: filenameOf(entity),
    contentType,
    ...(entity.contentId === null ? {} : { contentId: entity.contentId }),
    disposition: dispositionOf(entity),
    ...(isMessageType(contentType) ? { isSevenBit: isSevenBit(bytes.toString('latin1')) } : {}),
    content: bytes.toString('base64'),
  };
};

/** A charset that is not known is guessed. */
const decodedText = (bytes: Buffer, charset: string, onProblem: OnProblem): string => {
  const text = bytesInCharset(bytes, charset);
  if (text !== null) return text;
  onProblem(`its charset ${charset} is not known`);
  return bytesInCharset(bytes, '') ?? '';
};

const textOf = ({ type, bytes }: MimeEntity, onProblem: OnProblem): string => {
  const lines = decodedText(bytes(), parameterOf(type, 'charset') ?? '', onProblem).replaceAll('\r\n', '\n');
  const isFlowed = type.value === 'text/plain' && parameterOf(type, 'format')?.toLowerCase() === 'flowed';
  return isFlowed ? unflowed(lines, parameterOf(type, 'delsp')?.toLowerCase() === 'yes') : lines;
};

const KIND: Readonly<Record<string, 'text' | 'html'>> = { 'text/plain': 'text', 'text/html': 'html' };

const shownKind = ({ type, disposition }: MimeEntity): 'text' | 'html' | null =>
  disposition.value === 'attachment' ? null : (KIND[type.value] ?? null);

const multipartsIn = ({ type, parts }: MimeEntity): readonly string[] =>
  parts === null ? [] : [type.value.slice('multipart/'.length), ...parts.flatMap(multipartsIn)];

const leadsToHtml = (entity: MimeEntity): boolean =>
  entity.parts === null ? shownKind(entity) === 'html' : entity.parts.some(leadsToHtml);

/** Moves the root of a multipart/related, the part that the others belong to, to the front (RFC 2387 §3.2). */
const rootFirst = (type: ContentField, parts: readonly MimeEntity[]): readonly MimeEntity[] => {
  if (type.value !== 'multipart/related') return parts;
  const start = parameterOf(type, 'start')?.replace(/^<(.*)>$/, '$1');
  const root = parts.find(({ contentId }) => contentId !== null && contentId === start);
  return root === undefined ? parts : [root, ...parts.filter((part) => part !== root)];
};

const createSorting = (contents: Contents, onProblem: OnProblem) => {
  const { shown, alternatives, attachments } = contents;

  const newPlace = (): ShownContent => {
    const place = { text: [], html: [] };
    shown.push(place);
    return place;
  };

  /** @param group content shown by the multipart/alternative around it. */
  const sortPart = (entity: MimeEntity, group: ShownContent | null): void => {
    const kind = shownKind(entity);
    // A text file after the text is an attachment, whatever its disposition.
    const isFile = group === null && shown.length > 0 && filenameOf(entity) !== null;
    if (kind === null || isFile) attachments.push(partOf(entity));
    else (group ?? newPlace())[kind].push(textOf(entity, onProblem));
  };

  const sortAlternatives = (parts: readonly MimeEntity[], group: ShownContent): void => {
    const html = parts.findLastIndex(leadsToHtml);
    for (const [index, part] of parts.entries()) {
      if (part.parts !== null || shownKind(part) !== null) sort(part, group);
      else alternatives.push({ ...partOf(part), beforeHtml: index < html });
    }
  };

  const sort = (entity: MimeEntity, group: ShownContent | null): void => {
    const { type, parts } = entity;
    if (parts === null) sortPart(entity, group);
    else if (type.value === 'multipart/alternative') sortAlternatives(parts, group ?? newPlace());
    else sortAll(rootFirst(type, parts), group);
  };

  const sortAll = (parts: readonly MimeEntity[], group: ShownContent | null): void => {
    for (const part of parts) sort(part, group);
  };

  return (root: MimeEntity): void => {
    // RFC 6047 §2.4: an invitation may be the whole message.
    const isAlone = root.parts === null && shownKind(root) === null && root.type.value.startsWith('text/');
    if (isAlone && root.disposition.value !== 'attachment') alternatives.push({ ...partOf(root), beforeHtml: false });
    else sort(root, null);
  };
};

/**
 * Far above any real message. Further processing handles each address on the event loop, shared with other requests.
 */
const ADDRESSES_MAX = 1_000;
const ATTACHMENTS_MAX = 100;

const firstOf = <Item>(items: readonly Item[], most: number, unit: string, onProblem: OnProblem): readonly Item[] => {
  if (items.length <= most) return items;
  onProblem(`it has more than ${most} ${unit}`);
  return items.slice(0, most);
};

/** RFC 2047 §5 (3) forbids specials and spaces in an encoded word of a phrase, but programs write them. */
const Q_WORD = /=\?([\w*-]{1,60})\?q\?([^?]{1,1000})\?=/gi;
const NOT_OF_PHRASE = /[^\w!*+/=-]/gu;

const hexOf = (character: string): string => Buffer.from(character).toString('hex').toUpperCase().replace(/../g, '=$&');

/** Re-encodes encoded words so that they contain no character that would end a name. */
const withWholeWords = (value: string): string =>
  value.replace(
    Q_WORD,
    (_, charset: string, text: string) =>
      `=?${charset}?Q?${text.replace(NOT_OF_PHRASE, (each) => (each === ' ' ? '_' : hexOf(each)))}?=`,
  );

const mailboxesOf = (value: string): readonly WrittenAddress[] =>
  addressparser(withWholeWords(value))
    // A group without members is shown by its name alone.
    .flatMap((one) => (one.group === undefined || one.group.length === 0 ? [one] : one.group))
    .map(({ name, address }) => ({ name: decodeWords(name), address: address ?? '' }))
    .filter(({ name, address }) => name !== '' || address !== '');

const addressesIn = ({ headers }: MimeEntity, wanted: string, onProblem: OnProblem): readonly WrittenAddress[] => {
  const found = headers.filter(({ name }) => name.toLowerCase() === wanted).flatMap(({ value }) => mailboxesOf(value));
  return firstOf(found, ADDRESSES_MAX, `addresses in ${wanted}`, onProblem);
};

/** Decoded value. A name among addresses is quoted, since its text might be read as another address. */
const shownValue = ({ name, value }: HeaderField): string => {
  if (!(value.includes('=?') && holdsAddresses(name))) return decodeWords(value);
  const mailboxes = mailboxesOf(value);
  return mailboxes.every(({ address }) => address !== '') ? mailboxes.map(mailboxText).join(', ') : decodeWords(value);
};

const contentsOf = (raw: Buffer, onProblem: OnProblem): ParsedMail => {
  const tree = readMimeTree(raw, onProblem);
  const contents: Contents = { shown: [], alternatives: [], attachments: [] };
  createSorting(contents, onProblem)(tree);
  return {
    headers: tree.headers.map((field) => ({ name: field.name, value: shownValue(field) })),
    from: addressesIn(tree, 'from', onProblem),
    to: addressesIn(tree, 'to', onProblem),
    cc: addressesIn(tree, 'cc', onProblem),
    replyTo: addressesIn(tree, 'reply-to', onProblem),
    ...joinedBody(contents.shown),
    alternatives: contents.alternatives,
    attachments: firstOf(contents.attachments, ATTACHMENTS_MAX, 'attachments', onProblem),
    multiparts: multipartsIn(tree),
  };
};

/** @returns the contents of the message, or the reason why it cannot be read, as a phrase. */
export const parseMail = (raw: Buffer): ParsedMail | string => {
  try {
    return contentsOf(raw, reject);
  } catch (error) {
    if (error instanceof Unreadable) return error.message;
    throw error;
  }
};

/** Enough to see what is wrong with a message. More makes its record large. */
const PROBLEMS_MAX = 10;

/** Never throws. */
export const parseMailLeniently = (raw: Buffer): LenientMail => {
  const problems = new Set<string>();
  const mail = contentsOf(raw, (problem) => {
    if (problems.size < PROBLEMS_MAX) problems.add(problem);
  });
  return { ...mail, problems: [...problems] };
};
