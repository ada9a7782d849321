import { setImmediate as othersTurn } from 'node:timers/promises';

/** Base64 to be written in lines (RFC 2045 §6.8). Attachments stay as they are until they are sent. */
export interface Base64Text {
  readonly base64: string;
}

const LINE_CHARACTERS = 76;
/** Lines made at a time, some 64 kB: the largest attachment never stands in memory twice, nor blocks for long. */
const LINES_PER_CHUNK = 840;

const ALPHABET = /^[A-Za-z0-9+/]*$/;
const CANONICAL = /^[A-Za-z0-9+/]*={0,2}$/;
/** Looked at in one turn of the event loop: a ms. */
const TURN_CHARACTERS_MAX = 1_000_000;

/** Attachments come as a client wrote them: with line breaks or in the URL alphabet perhaps. */
export const canonicalBase64 = (text: string): string =>
  text.length % 4 === 0 && CANONICAL.test(text) ? text : Buffer.from(text, 'base64').toString('base64');

/** The same with turns for others, where it is long. What comes otherwise than it is written is still made anew at once. */
export const canonicalBase64InTurns = async (text: string): Promise<string> => {
  const padded = text.length - 4;
  for (let start = 0; start < padded; start += TURN_CHARACTERS_MAX) {
    if (start > 0) await othersTurn();
    if (!ALPHABET.test(text.slice(start, Math.min(start + TURN_CHARACTERS_MAX, padded)))) return canonicalBase64(text);
  }
  const isCanonical = text.length % 4 === 0 && CANONICAL.test(text.slice(Math.max(0, padded)));
  return isCanonical ? text : canonicalBase64(text);
};

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
