/** A line holds 998 characters (RFC 5322 §2.1.1); no type that is in use comes near. */
const CHARACTERS_MAX = 500;
/** RFC 6838 §4.2 and RFC 2045 §5.1 with parameters, those of RFC 2231 among them, on one line. */
const TYPE =
  /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?:; ?[\w!#$&^.+-]+(?:=(?:[\w!#$%&'*+.^`{|}~-]+|"(?:[ !#-[\]-~]|\\[ -~])*")|\*\d{0,2}\*?=[\w!#$%&'*+.^`{|}~-]+))*$/;
/** RFC 2045 §6.4: these must not be encoded, so nothing can be attached as one of them. */
const COMPOSITE = /^(?:multipart|message)\//i;

/** Whether a `Content-Type` can be written for an attachment as it stands. */
export const isAttachmentType = (text: string): boolean =>
  text.length <= CHARACTERS_MAX && TYPE.test(text) && !COMPOSITE.test(text);

/** A message attached to a message (RFC 2046 §5.2.1): it is written as it stands, because it must not be encoded. */
export const isMessageType = (text: string): boolean =>
  /^message\/rfc822(?:;|$)/i.test(text) && text.length <= CHARACTERS_MAX && TYPE.test(text);

/** RFC 5322 §2.1.1. */
const LINE_CHARACTERS_MAX = 998;
const SEVEN_BIT = /^[\t\r\n -~]*$/;

/** Lines of ASCII that every server carries as they stand (RFC 2045 §2.7). */
export const isSevenBit = (text: string): boolean =>
  SEVEN_BIT.test(text) &&
  text.split('\r\n').every((line) => line.length <= LINE_CHARACTERS_MAX && !/[\r\n]/.test(line));
