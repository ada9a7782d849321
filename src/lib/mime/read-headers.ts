import { CR, LF, Unreadable } from './content-field.ts';

/** Header fields of a message or of a part (RFC 5322 §2.2). */

export interface HeaderField {
  readonly name: string;
  /** Unfolded. HTAB, which is white space like any other (RFC 5322 §2.2.2), becomes a space. */
  readonly value: string;
}

/**
 * Limit for all parts together, far above a hundred recipients and their thread. Each header costs time in proportion.
 */
export const HEADERS_BYTES_MAX = 256_000;
/** Limit for one part. Later steps handle each field. Real headers rarely have more than a hundred. */
const FIELDS_MAX = 2_000;

/** The first empty line (RFC 5322 §2.1) and the start of the body. Without such a line, everything is header. */
export const headEnd = (bytes: Buffer): readonly [end: number, body: number] => {
  for (let start = 0; start < bytes.length; ) {
    const lineFeed = bytes.indexOf(LF, start);
    const first = bytes[start];
    if (lineFeed === start || (lineFeed === start + 1 && first === CR)) return [start, lineFeed + 1];
    if (lineFeed < 0) break;
    start = lineFeed + 1;
  }
  return [bytes.length, bytes.length];
};

/** A line without a colon becomes a field with that name and no value. */
const fieldOf = (text: string): HeaderField => {
  const colon = text.indexOf(':');
  if (colon < 0) return { name: text.trim(), value: '' };
  return {
    name: text.slice(0, colon).trim(),
    value: text
      .slice(colon + 1)
      .replace(/[\t\r]/g, ' ')
      .trim(),
  };
};

export const fieldsOf = (head: Buffer): readonly HeaderField[] => {
  const lines: string[][] = [];
  for (const line of head.toString('utf8').split(/\r?\n/)) {
    const isFolded = line.startsWith(' ') || line.startsWith('\t');
    if (isFolded && lines.length > 0) lines.at(-1)?.push(line);
    else if (line !== '') lines.push([line]);
  }
  if (lines.length > FIELDS_MAX) throw new Unreadable(`its header has more than ${FIELDS_MAX} fields`);
  return lines.map((folded) => fieldOf(folded.join('')));
};

/** The header fields of a message, even of one that `readMimeTree` rejects. */
export const readHeaders = (raw: Buffer): readonly HeaderField[] => {
  const [end] = headEnd(raw);
  const lines = raw.subarray(0, Math.min(end, HEADERS_BYTES_MAX)).toString('utf8').split('\n', FIELDS_MAX);
  return fieldsOf(Buffer.from(lines.join('\n')));
};
