import { createHash } from 'node:crypto';
import { setImmediate as othersTurn } from 'node:timers/promises';

/** The relaxed form of headers and bodies (RFC 6376 §3.4), and the hash of a body. */

/** RFC 6376 §3.4.2 counts only these as white space. Other Unicode white space is text. */
const OUTER_SPACE = /^[ \t]+|[ \t]+$/g;
const NEEDS_WORK = /[\r\t]| {2}/;

/**
 * A header field in `relaxed` form (RFC 6376 §3.4.2), with its CRLF.
 * @param name in lower case.
 * @param value the text after the colon, folded as written.
 */
export const relaxedHeader = (name: string, value: string): string => {
  const line = NEEDS_WORK.test(value) ? value.replaceAll('\r\n', '').replace(/[ \t]+/g, ' ') : value;
  return `${name}:${line.replace(OUTER_SPACE, '')}\r\n`;
};

const SPACE = 0x20;
const TAB = 0x09;
const CR = 0x0d;

const isSpace = (byte: number): boolean => byte === SPACE || byte === TAB;

/**
 * Lines in `relaxed` form (RFC 6376 §3.4.4 a): white space within a line becomes one space, and is dropped at its end.
 * Text without white space, such as base64, is not copied. A plain loop: searching for the places to change is slower,
 * as measured.
 * @param bytes whole lines with CRLF.
 */
export const relaxedLines = (bytes: Buffer): Buffer => {
  if (!bytes.includes(SPACE) && !bytes.includes(TAB)) return bytes;
  const out = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  let isAfterSpace = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (isSpace(byte)) {
      isAfterSpace = true;
      continue;
    }
    if (isAfterSpace && byte !== CR) {
      out[length] = SPACE;
      length += 1;
    }
    isAfterSpace = false;
    out[length] = byte;
    length += 1;
  }
  return out.subarray(0, length);
};

const LF = 0x0a;
const LINE_END_BYTES = 2;
/** Bytes hashed at a time, so that no canonicalised body is in memory as a whole. */
const PIECE_BYTES = 64 * 1024;
/** A quarter of a megabyte, about 1 ms. More delays everything else, less costs turns. */
const PIECES_PER_TURN = 4;
/** Line ends at the end of a piece are written once text follows, this many at a time. */
const LINE_ENDS = Buffer.from('\r\n'.repeat(4096));

/** @throws {Error} if a line continues in the next chunk. */
function* piecesOf(chunk: Buffer): Generator<Buffer> {
  for (let at = 0; at < chunk.length; ) {
    const end = at + PIECE_BYTES >= chunk.length ? chunk.length : chunk.lastIndexOf(LF, at + PIECE_BYTES) + 1;
    if (end <= at || chunk[end - 1] !== LF) throw new Error('a body is hashed in whole lines');
    yield chunk.subarray(at, end);
    at = end;
  }
}

/** Hashes lines as they arrive, without the empty lines at the end of the body (RFC 6376 §3.4.4 b). */
const createRelaxedHash = () => {
  const digest = createHash('sha256');
  let isEmpty = true;
  let waitingBytes = 0;

  const writeWaiting = (): void => {
    for (; waitingBytes > 0; waitingBytes -= Math.min(waitingBytes, LINE_ENDS.length)) {
      digest.update(LINE_ENDS.subarray(0, Math.min(waitingBytes, LINE_ENDS.length)));
    }
  };
  return {
    add: (lines: Buffer): void => {
      const relaxed = relaxedLines(lines);
      let end = relaxed.length;
      while (end > 0 && relaxed[end - 1] === LF) end -= LINE_END_BYTES;
      if (end > 0) {
        writeWaiting();
        digest.update(relaxed.subarray(0, end));
        isEmpty = false;
      }
      waitingBytes += relaxed.length - end;
    },
    end: (): string => (isEmpty ? digest : digest.update('\r\n')).digest('base64'),
  };
};

/**
 * SHA-256 of a body in `relaxed` form, base64 (the tag `bh`). Small bodies are hashed at once, large ones with pauses
 * for other work.
 * @param chunks whole lines with CRLF, without bare CR or LF, like all messages here.
 */
export const bodyHash = async (chunks: Iterable<Buffer>): Promise<string> => {
  const relaxed = createRelaxedHash();
  let pieces = 0;
  for (const chunk of chunks) {
    for (const piece of piecesOf(chunk)) {
      relaxed.add(piece);
      pieces += 1;
      if (pieces % PIECES_PER_TURN === 0) await othersTurn();
    }
  }
  return relaxed.end();
};
