import { decodeWords } from './decode-body.ts';
import { type Fields, firstField } from './read-fields.ts';
import { type MailPart, splitParts } from './split-parts.ts';

/** A mail as its parts: what a reader needs of them. */
export interface MailParts {
  readonly headers: Fields;
  readonly subject: string;
  readonly from: string;
  /** Of the parts for people, with LF alone. */
  readonly text: string;
  /** The others, in order; types in lower case. */
  readonly parts: readonly { readonly type: string; readonly text: string }[];
}

/** What people are told fits many times over; more would only be searched in vain. */
const TEXT_CHARACTERS_MAX = 64_000;

/** What is neither a tag nor a reference; blocks end lines. Each `<` is looked at once. */
const textOfHtml = (html: string): string =>
  html
    .slice(0, 4 * TEXT_CHARACTERS_MAX)
    .replace(/<(?:br|\/p|\/div|\/tr|\/h\d|\/li)\b[^<>]{0,500}>/gi, '\n')
    .replace(/<[^<>]{0,2000}>/g, ' ')
    .replace(/&nbsp;|&#160;/gi, ' ')
    .replace(/&lt;/gi, '<')
    .replace(/&gt;/gi, '>')
    .replace(/&(?:#39|apos|rsquo);/gi, "'")
    .replace(/&quot;/gi, '"')
    .replace(/&amp;/gi, '&')
    .replace(/[ \t]{2,}/g, ' ');

const isAttached = ({ headers }: MailPart): boolean =>
  /^attachment/i.test(firstField(headers, 'content-disposition') ?? '');

const forPeople = (parts: readonly MailPart[], type: string): readonly MailPart[] =>
  parts.filter((part) => part.type === type && !isAttached(part));

const textFor = (parts: readonly MailPart[]): string => {
  const plain = forPeople(parts, 'text/plain');
  if (plain.length > 0) return plain.map((part) => part.text()).join('\n');
  return forPeople(parts, 'text/html')
    .map((part) => textOfHtml(part.text()))
    .join('\n');
};

export const readParts = (raw: Uint8Array): MailParts => {
  const { headers, parts } = splitParts(raw);
  return {
    headers,
    subject: decodeWords(firstField(headers, 'subject') ?? ''),
    from: decodeWords(firstField(headers, 'from') ?? ''),
    text: textFor(parts).slice(0, TEXT_CHARACTERS_MAX),
    parts: parts
      .filter(({ type }) => !/^text\/(?:plain|html)$/.test(type))
      .map((part) => ({ type: part.type, text: part.text() })),
  };
};
