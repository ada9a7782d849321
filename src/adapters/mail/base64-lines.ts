/** Base64 to be written in lines (RFC 2045 §6.8). Attachments stay as they are until they are sent. */
export interface Base64Text {
  readonly base64: string;
}

const LINE_CHARACTERS = 76;
/** Lines made at a time, some 64 kB: the largest attachment never stands in memory twice, nor blocks for long. */
const LINES_PER_CHUNK = 840;

const CANONICAL = /^[A-Za-z0-9+/]*={0,2}$/;

/** Attachments come as a client wrote them: with line breaks or in the URL alphabet perhaps. */
export const canonicalBase64 = (text: string): string =>
  text.length % 4 === 0 && CANONICAL.test(text) ? text : Buffer.from(text, 'base64').toString('base64');

/** Bytes of `base64Lines`. */
export const base64LinesLength = (base64: string): number =>
  base64.length + Math.ceil(base64.length / LINE_CHARACTERS) * 2;

/** Lines of 76 characters, each with its CRLF, some at a time. */
export function* base64Lines(base64: string): Generator<string> {
  const step = LINE_CHARACTERS * LINES_PER_CHUNK;
  for (let start = 0; start < base64.length; start += step) {
    const end = Math.min(start + step, base64.length);
    let lines = '';
    for (let at = start; at < end; at += LINE_CHARACTERS) {
      lines += `${base64.slice(at, Math.min(at + LINE_CHARACTERS, end))}\r\n`;
    }
    yield lines;
  }
}
