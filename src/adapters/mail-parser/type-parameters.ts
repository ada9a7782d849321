import PostalMime, { type Attachment, type Email, type PostalMimeOptions } from 'postal-mime';
import { isAttachmentType } from '../../domain/message/attachment-type.ts';

/** Of a `Content-Type`, by name in lower case, decoded (RFC 2231). */
type Parameters = Readonly<Record<string, string>>;

interface Part {
  readonly contentType: { readonly parsed: { readonly params: Parameters } };
}

/** What the parser does with each part that it makes an attachment of: it keeps the type alone. */
interface Collecting {
  collectAttachment(part: Part, ...rest: readonly unknown[]): void;
}

/** A message, and the parameters of the types of its attachments in their order. @throws what the parser throws. */
export const parseWithParameters = async (
  raw: Uint8Array,
  options: PostalMimeOptions,
): Promise<{ readonly mail: Email; readonly parameters: readonly Parameters[] }> => {
  const parser = new PostalMime(options);
  const parameters: Parameters[] = [];
  const collecting = parser as unknown as Collecting;
  const collect = collecting.collectAttachment;
  collecting.collectAttachment = (part, ...rest) => {
    parameters.push(part.contentType.parsed.params);
    collect.call(parser, part, ...rest);
  };
  return { mail: await parser.parse(raw), parameters };
};

/** The parser makes UTF-8 of them. */
const CALENDAR = new Set(['text/calendar', 'application/ics']);
/** A name is written from the filename; the others are about how the message was written, which is written anew. */
const NOT_KEPT = new Set(['name', 'filename', 'boundary']);
const TOKEN = /^[\w!#$&+.^`{|}~-]+$/;

const written = (value: string): string => (TOKEN.test(value) ? value : `"${value}"`);

/** A type with those of its parameters that can be written as they stand (RFC 2045 §5.1). */
export const typeWith = ({ mimeType, method }: Attachment, parameters: Parameters): string => {
  const { charset, ...others } = parameters;
  const known = {
    ...(CALENDAR.has(mimeType) ? { charset: 'utf-8' } : { charset }),
    ...others,
    ...(method === undefined ? {} : { method }),
  };
  let type = mimeType;
  for (const [name, value] of Object.entries(known)) {
    if (value === undefined || NOT_KEPT.has(name)) continue;
    const longer = `${type}; ${name}=${written(value)}`;
    if (isAttachmentType(longer)) type = longer;
  }
  return type;
};
