const DOT = Buffer.from('.');
const DOT_AT_LINE_START = Buffer.from('\n.');
const LF = 0x0a;

const AFTER_LINE_END = Buffer.from('.\r\n');
const WITHIN_A_LINE = Buffer.from('\r\n.\r\n');

export const endsLine = (bytes: Buffer): boolean => bytes.at(-1) === LF;

/** What tells the end of a message (RFC 5321 §4.1.1.4). */
export const finalDot = (atLineStart: boolean): Buffer => (atLineStart ? AFTER_LINE_END : WITHIN_A_LINE);

/**
 * Doubles the dots at the beginning of lines (RFC 5321 §4.5.2). One after a bare line feed, which no message of ours
 * holds, is doubled too: no server shall find an end in the middle. Most messages have none and are not copied.
 * @param atLineStart the first byte begins a line.
 */
export const stuffDots = (bytes: Buffer, atLineStart: boolean): Buffer => {
  const parts: Buffer[] = atLineStart && bytes[0] === DOT[0] ? [DOT] : [];
  let start = 0;
  for (let at = bytes.indexOf(DOT_AT_LINE_START); at >= 0; at = bytes.indexOf(DOT_AT_LINE_START, start)) {
    parts.push(bytes.subarray(start, at + 1), DOT);
    start = at + 1;
  }
  if (parts.length === 0) return bytes;
  parts.push(bytes.subarray(start));
  return Buffer.concat(parts);
};
