import addressparser from 'nodemailer/lib/addressparser';
import { decodeWords } from 'postal-mime';
import { joinedBody, type Shown, unflowed } from './body-text.ts';
import { bytesInCharset, type ContentField, parameterOf, Unreadable } from './content-field.ts';
import { mailboxText } from './email-address.ts';
import { isMessageType, isSevenBit } from './field-syntax.ts';
import { type MimeEntity, readMimeTree } from './mime-tree.ts';
import type { ParsedAlternative, ParsedMail, ParsedPart, WrittenAddress } from './parsed-mail.ts';
import type { HeaderField } from './read-headers.ts';
import { holdsAddresses } from './structured-headers.ts';

/** Contents of a message, sorted the way this service builds one. */
interface Contents {
  readonly shown: Shown[];
  readonly alternatives: ParsedAlternative[];
  readonly attachments: ParsedPart[];
}

const TOKEN = /^[\w!#$%&'*+.^`{|}~-]+$/;
/**
 * Parameters left out of the type: the name is kept separately, a boundary has no use, and the pieces of RFC 2231 form
 * one name.
 */
const NOT_OF_TYPE = /^(?:boundary|(?:name|filename)(?:\*.*)?)$/;

const written = (value: string): string => (TOKEN.test(value) ? value : `"${value.replace(/[\\"]/g, '\\$&')}"`);

const contentTypeOf = ({ type }: MimeEntity): string =>
  [
    type.value,
    ...type.parameters
      .filter(({ name }) => !NOT_OF_TYPE.test(name))
      .map(({ name, value }) => `${name}=${written(value)}`),
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

const textOf = ({ type, bytes }: MimeEntity): string => {
  const charset = parameterOf(type, 'charset') ?? '';
  const text = bytesInCharset(bytes(), charset);
  if (text === null) throw new Unreadable(`its charset ${charset} is not known`);
  const lines = text.replaceAll('\r\n', '\n');
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

const createSorting = (contents: Contents) => {
  const { shown, alternatives, attachments } = contents;

  const newPlace = (): Shown => {
    const place = { text: [], html: [] };
    shown.push(place);
    return place;
  };

  /** @param group content shown by the multipart/alternative around it. */
  const sortPart = (entity: MimeEntity, group: Shown | null): void => {
    const kind = shownKind(entity);
    // A text file after the text is an attachment, whatever its disposition.
    const isFile = group === null && shown.length > 0 && filenameOf(entity) !== null;
    if (kind === null || isFile) attachments.push(partOf(entity));
    else (group ?? newPlace())[kind].push(textOf(entity));
  };

  const sortAlternatives = (parts: readonly MimeEntity[], group: Shown): void => {
    const html = parts.findLastIndex(leadsToHtml);
    for (const [index, part] of parts.entries()) {
      if (part.parts !== null || shownKind(part) !== null) sort(part, group);
      else alternatives.push({ ...partOf(part), beforeHtml: index < html });
    }
  };

  const sort = (entity: MimeEntity, group: Shown | null): void => {
    const { type, parts } = entity;
    if (parts === null) sortPart(entity, group);
    else if (type.value === 'multipart/alternative') sortAlternatives(parts, group ?? newPlace());
    else sortAll(rootFirst(type, parts), group);
  };

  const sortAll = (parts: readonly MimeEntity[], group: Shown | null): void => {
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

const requireFew = <Item>(items: readonly Item[], maximum: number, unit: string): readonly Item[] => {
  if (items.length > maximum) throw new Unreadable(`it has more than ${maximum} ${unit}`);
  return items;
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

const addressesIn = (headers: readonly HeaderField[], wanted: string): readonly WrittenAddress[] =>
  requireFew(
    headers.filter(({ name }) => name.toLowerCase() === wanted).flatMap(({ value }) => mailboxesOf(value)),
    ADDRESSES_MAX,
    `addresses in ${wanted}`,
  );

/** Decoded value. A name among addresses is quoted, since its text might be read as another address. */
const shownValue = ({ name, value }: HeaderField): string => {
  if (!(value.includes('=?') && holdsAddresses(name))) return decodeWords(value);
  const mailboxes = mailboxesOf(value);
  return mailboxes.every(({ address }) => address !== '') ? mailboxes.map(mailboxText).join(', ') : decodeWords(value);
};

/** @returns the contents of the message, or the reason why it cannot be read, as a phrase. */
export const parseMail = (raw: Buffer): ParsedMail | string => {
  try {
    const tree = readMimeTree(raw);
    const contents: Contents = { shown: [], alternatives: [], attachments: [] };
    createSorting(contents)(tree);
    return {
      headers: tree.headers.map((field) => ({ name: field.name, value: shownValue(field) })),
      from: addressesIn(tree.headers, 'from'),
      to: addressesIn(tree.headers, 'to'),
      cc: addressesIn(tree.headers, 'cc'),
      replyTo: addressesIn(tree.headers, 'reply-to'),
      ...joinedBody(contents.shown),
      alternatives: contents.alternatives,
      attachments: requireFew(contents.attachments, ATTACHMENTS_MAX, 'attachments'),
      multiparts: multipartsIn(tree),
    };
  } catch (error) {
    if (error instanceof Unreadable) return error.message;
    throw error;
  }
};
