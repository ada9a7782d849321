import { isUtf8 } from 'node:buffer';
import { type Attachment, addressParser, decodeWords, type Email } from 'postal-mime';
import type { ParsedAttachment, ParsedMail, WrittenAddress } from '../../domain/mail-parser.ts';
import { parseWithParameters, typeWith } from './type-parameters.ts';

/** Fifty recipients and their thread fit many times; each header costs time in proportion. */
const HEADERS_BYTES_MAX = 256_000;
/** Mail programs nest three or four; each level costs memory. */
const NESTING_MAX = 20;

/** Each costs half a microsecond, however short; 25 MB of base64 have a third of it. */
const LINES_MAX = 1_000_000;

const hasTooManyLines = (raw: Buffer): boolean => {
  if (raw.length <= LINES_MAX) return false;
  let lines = 0;
  for (let at = raw.indexOf(10); at >= 0 && lines <= LINES_MAX; at = raw.indexOf(10, at + 1)) lines += 1;
  return lines > LINES_MAX;
};

const attachmentOf = (attachment: Attachment, parameters: Readonly<Record<string, string>>): ParsedAttachment => {
  const { filename, contentId, content } = attachment;
  const id = contentId?.trim().replace(/^<(.*)>$/, '$1');
  return {
    filename,
    contentType: typeWith(attachment, parameters),
    ...(id === undefined || id === '' ? {} : { contentId: id }),
    content: typeof content === 'string' ? content : Buffer.from(content as ArrayBuffer).toString('base64'),
  };
};

const addressesIn = (mail: Email, key: string): readonly WrittenAddress[] =>
  mail.headers
    .filter((header) => header.key === key)
    .flatMap(({ value }) => addressParser(value, { flatten: true }))
    .map(({ name, address }) => ({ name, address: address ?? '' }));

/** Up to the first empty line (RFC 5322 §2.1). */
const headerSection = (raw: Buffer): Buffer => {
  const ends = [raw.indexOf('\n\r\n'), raw.indexOf('\n\n')].filter((end) => end >= 0);
  return ends.length === 0 ? raw : raw.subarray(0, Math.min(...ends));
};

/** @returns what the message says, or why it cannot be read, in a phrase. */
export const parseMail = async (raw: Buffer): Promise<ParsedMail | string> => {
  // RFC 6532 §3.2: what is not UTF-8 would become another text without a word.
  if (!isUtf8(headerSection(raw))) return 'its headers are neither ASCII nor UTF-8';
  if (hasTooManyLines(raw)) return `it has more than ${LINES_MAX} lines`;
  let parsed: Awaited<ReturnType<typeof parseWithParameters>>;
  try {
    parsed = await parseWithParameters(raw, {
      forceRfc822Attachments: true,
      maxHeadersSize: HEADERS_BYTES_MAX,
      maxNestingDepth: NESTING_MAX,
    });
  } catch {
    return `its headers are larger than ${HEADERS_BYTES_MAX} bytes, or its parts deeper than ${NESTING_MAX}`;
  }
  const { mail, parameters } = parsed;
  return {
    headers: mail.headers.map(({ originalKey, value }) => ({ name: originalKey, value: decodeWords(value) })),
    from: addressesIn(mail, 'from'),
    to: addressesIn(mail, 'to'),
    cc: addressesIn(mail, 'cc'),
    replyTo: addressesIn(mail, 'reply-to'),
    ...(mail.text === undefined ? {} : { text: mail.text }),
    ...(mail.html === undefined ? {} : { html: mail.html }),
    attachments: mail.attachments.map((each, index) => attachmentOf(each, parameters[index] ?? {})),
  };
};
