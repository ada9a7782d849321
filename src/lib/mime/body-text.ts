import { escapeHtml } from '../html/html.ts';

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

/** What stands at one place of a message to be read: text, html, or the same as both; several are one below the other. */
export interface Shown {
  readonly text: string[];
  readonly html: string[];
}

const asHtml = (text: string): string =>
  `<div>${escapeHtml(text.replace(/\n$/, '')).replaceAll('\n', '<br>\n')}</div>\n`;

interface Framed {
  /** Up to the end of `<body …>`. */
  readonly before: string;
  readonly content: string;
  /** From `</body>` on. */
  readonly after: string;
}

/** Where the last `</body` begins; the end of the text without one. */
const bodyEnd = (html: string): number => {
  for (let at = html.lastIndexOf('</'); at >= 0; at = at === 0 ? -1 : html.lastIndexOf('</', at - 1)) {
    if (/^<\/body$/i.test(html.slice(at, at + '</body'.length))) return at;
  }
  return html.length;
};

/** What a document shows, and the frame that only one of several can have. */
const framed = (html: string): Framed => {
  const start = /<body[\s>]/i.exec(html);
  const from = start === null ? 0 : html.indexOf('>', start.index) + 1;
  if (from === 0) return { before: '', content: html, after: '' };
  const to = Math.max(from, bodyEnd(html));
  return { before: html.slice(0, from), content: html.slice(from, to), after: html.slice(to) };
};

/** One document below the other, in the frame of the first that has one. */
const joinedHtml = (pages: readonly string[]): string => {
  const [only] = pages;
  if (pages.length === 1 && only !== undefined) return only;
  const documents = pages.map(framed);
  const { before = '', after = '' } = documents.find((one) => one.before !== '') ?? {};
  return before + documents.map(({ content }) => content).join('\n') + after;
};

/**
 * The body of a message that shows several texts one below the other. Where only some of it is html, all of it becomes
 * html; text that stands for some of it alone would hide the rest from whoever reads text, and is left out.
 */
export const joinedBody = (shown: readonly Shown[]): { readonly text?: string; readonly html?: string } => {
  const places = shown.filter(({ text, html }) => text.length + html.length > 0);
  if (places.length === 0) return {};
  const isHtml = places.some(({ html }) => html.length > 0);
  const isText = places.every(({ text }) => text.length > 0);
  return {
    ...(isText ? { text: places.flatMap(({ text }) => text).join('\n') } : {}),
    ...(isHtml
      ? { html: joinedHtml(places.flatMap(({ html, text }) => (html.length > 0 ? html : text.map(asHtml)))) }
      : {}),
  };
};
