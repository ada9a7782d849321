/** RFC 6376 §3.4.2 knows no other white space: what else Unicode calls so is text. */
const OUTER_SPACE = /^[ \t]+|[ \t]+$/g;
const NEEDS_WORK = /[\r\t]| {2}/;

/**
 * A header field as `relaxed` has it (RFC 6376 §3.4.2), with its CRLF.
 * @param name in lower case.
 * @param value what follows the colon, folded as it is written.
 */
export const relaxedHeader = (name: string, value: string): string => {
  const line = NEEDS_WORK.test(value) ? value.replaceAll('\r\n', '').replace(/[ \t]+/g, ' ') : value;
  return `${name}:${line.replace(OUTER_SPACE, '')}\r\n`;
};
