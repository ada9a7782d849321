/**
 * Internet messages: addresses, header fields, bodies and their parts, written and read.
 *
 * Writing (strict, RFC 5322, 2045 to 2047, 2231, 6532): `addressHeader`, `textHeader` and `givenHeader` fold and encode
 * header fields; `textPart`, `attachmentPart` and `multipart` build parts in the smallest safe transfer encoding.
 * Caller-supplied values cannot add a header or end a part.
 *
 * Reading (lenient, like mail programs): `createMailParser` reads raw messages in a thread, `parseMail` reads one in
 * this thread, `readHeaders` reads only the head. Depth, parts, headers and time are bounded; a message beyond the
 * bounds is rejected with a phrase that says why. `parseMailLeniently` and `readLeaves` read what they can of any message.
 *
 * Addresses: `parseMailbox` parses `a@b` or `Name <a@b>` and returns the mailbox, or the reason why the text is
 * invalid. `canonicalAddress` is the form in which two spellings of one mailbox are equal; `writtenAddress` is the form
 * on the wire.
 */

export { bytesInCharset } from './charset.ts';
export type { Mailbox, StoredAlternative, StoredAttachment, UnsubscribeWays } from './email-address.ts';
export {
  asciiDomain,
  canonicalAddress,
  domainOf,
  isAttachmentType,
  isHeaderName,
  isListUnsubscribe,
  isMessageType,
  isReplyTo,
  isSevenBit,
  mailboxText,
  parseMailbox,
  writtenAddress,
} from './email-address.ts';
export { decodeWords } from './encoded-words.ts';
export { createMailParser } from './mail-parser.ts';
export type { MimeMessage, UnsignedMessage } from './mime-part.ts';
export {
  attachmentPart,
  base64Lines,
  base64LinesLength,
  canonicalBase64,
  canonicalBase64InTurns,
  type MimePart,
  type MimePiece,
  multipart,
  textPart,
} from './mime-part.ts';
export {
  type HeaderField,
  type MimeEntity,
  parameterOf,
  readFields,
  readHeaders,
  readLeaves,
} from './mime-tree.ts';
export {
  type MailParser,
  MailParserUnavailable,
  numberedParts,
  type ParsedAlternative,
  type ParsedMail,
  type ParsedPart,
  parseMail,
  parseMailLeniently,
  type WrittenAddress,
} from './parse-mail.ts';
export {
  addressHeader,
  givenHeader,
  holdsAddresses,
  listUnsubscribeHeaders,
  mailboxesIn,
  textHeader,
} from './write-headers.ts';
