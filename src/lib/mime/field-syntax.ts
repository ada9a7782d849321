/** The syntax of header fields, media types and lines. */

/** Field names of RFC 5322 §3.6.8 that fit on their line. */
const HEADER_NAME = /^[!-9;-~]{1,76}$/;
export const isHeaderName = (name: string): boolean => HEADER_NAME.test(name);

/**
 * Written by this service if the message has `unsubscribe`. Otherwise a sender may set them (RFC 2369 §3.2, RFC 8058
 * §3.1).
 */
export const isListUnsubscribe = (name: string): boolean => /^list-unsubscribe(?:-post)?$/i.test(name);

export const isReplyTo = (name: string): boolean => name.toLowerCase() === 'reply-to';

/** A line has up to 998 characters (RFC 5322 §2.1.1). Types in use are far shorter. */
const TYPE_CHARACTERS_MAX = 500;
/** RFC 6838 §4.2 and RFC 2045 §5.1 with parameters, including those of RFC 2231, on one line. */
const TYPE =
  /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?:; ?[\w!#$&^.+-]+(?:=(?:[\w!#$%&'*+.^`{|}~-]+|"(?:[ !#-[\]-~]|\\[ -~])*")|\*\d{0,2}\*?=[\w!#$%&'*+.^`{|}~-]+))*$/;
/** RFC 2045 §6.4: these must not be encoded, so an attachment cannot be one of them. */
const COMPOSITE = /^(?:multipart|message)\//i;

/** True if the text can be the `Content-Type` of an attachment. */
export const isAttachmentType = (text: string): boolean =>
  text.length <= TYPE_CHARACTERS_MAX && TYPE.test(text) && !COMPOSITE.test(text);

/** A message attached to a message (RFC 2046 §5.2.1): written unencoded. */
export const isMessageType = (text: string): boolean =>
  /^message\/rfc822(?:;|$)/i.test(text) && text.length <= TYPE_CHARACTERS_MAX && TYPE.test(text);

/** RFC 5322 §2.1.1. */
const LINE_CHARACTERS_MAX = 998;
const SEVEN_BIT = /^[\t\r\n -~]*$/;

/** Lines of ASCII that every server transfers unchanged (RFC 2045 §2.7). */
export const isSevenBit = (text: string): boolean =>
  SEVEN_BIT.test(text) &&
  text.split('\r\n').every((line) => line.length <= LINE_CHARACTERS_MAX && !/[\r\n]/.test(line));
