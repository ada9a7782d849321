const QUOTES = /^>*/;
const SIGNATURE = '-- ';

interface Line {
  readonly depth: number;
  readonly text: string;
  /** It goes on in the next line. */
  readonly isFlowed: boolean;
}

const readLine = (line: string, delSp: boolean): Line => {
  const depth = QUOTES.exec(line)?.[0].length ?? 0;
  const stuffed = line.slice(depth);
  const text = stuffed.startsWith(' ') ? stuffed.slice(1) : stuffed;
  const isFlowed = text.endsWith(' ') && text !== SIGNATURE;
  return { depth, text: isFlowed && delSp ? text.slice(0, -1) : text, isFlowed };
};

const written = (depth: number, text: string): string => {
  if (depth === 0) return text;
  return `${'>'.repeat(depth)}${text === '' ? '' : ' '}${text}`;
};

/**
 * Text of `format=flowed` with each paragraph on a line (RFC 3676 §4): a line that ends in a space goes on in the next
 * one of the same depth of quotes, but for the line before a signature, which is no part of anything.
 * @param delSp the space was added to break the line, and is not in the text.
 */
export const unflowed = (flowed: string, delSp: boolean): string => {
  const paragraphs: string[] = [];
  let open: Line | null = null;
  for (const each of flowed.split('\n')) {
    const line = readLine(each, delSp);
    const goesOn = open?.isFlowed === true && open.depth === line.depth && line.text !== SIGNATURE;
    if (goesOn) paragraphs.push(`${paragraphs.pop()}${line.text}`);
    else paragraphs.push(written(line.depth, line.text));
    open = line;
  }
  return paragraphs.join('\n');
};
