import { escapeHtml } from '../html/html.ts';

const QUOTES = /^>*/;
const SIGNATURE = '-- ';

interface Line {
  readonly depth: number;
  readonly text: string;
  /** The paragraph continues on the next line. */
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
 * Joins each paragraph of `format=flowed` text into one line (RFC 3676 §4). A line that ends in a space continues on
 * the next line with the same quote depth, except the line before a signature, which belongs to no paragraph.
 * @param delSp the space was added to break the line, and is not part of the text.
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

/** Content shown at one place of a message: text, html, or both with the same meaning. Several items are stacked. */
export interface Shown {
  readonly text: string[];
  readonly html: string[];
}

const asHtml = (text: string): string =>
  `<div>${escapeHtml(text.replace(/\n$/, '')).replaceAll('\n', '<br>\n')}</div>\n`;

interface Framed {
  /** Everything through the end of `<body …>`. */
  readonly before: string;
  readonly content: string;
  /** Everything from `</body>` on. */
  readonly after: string;
}

/** Offset of the last `</body>`, or the length of the text without one. */
const bodyEnd = (html: string): number => {
  for (let at = html.lastIndexOf('</'); at >= 0; at = at === 0 ? -1 : html.lastIndexOf('</', at - 1)) {
    if (/^<\/body$/i.test(html.slice(at, at + '</body'.length))) return at;
  }
  return html.length;
};

/** Splits a document into its content and its frame. Only one of several joined documents keeps its frame. */
const framed = (html: string): Framed => {
  const start = /<body[\s>]/i.exec(html);
  const from = start === null ? 0 : html.indexOf('>', start.index) + 1;
  if (from === 0) return { before: '', content: html, after: '' };
  const to = Math.max(from, bodyEnd(html));
  return { before: html.slice(0, from), content: html.slice(from, to), after: html.slice(to) };
};

/** Stacks documents in the frame of the first that has one. */
const joinedHtml = (pages: readonly string[]): string => {
  const [only] = pages;
  if (pages.length === 1 && only !== undefined) return only;
  const documents = pages.map(framed);
  const { before = '', after = '' } = documents.find((one) => one.before !== '') ?? {};
  return before + documents.map(({ content }) => content).join('\n') + after;
};

/**
 * The body of a message that shows several texts, one below the other. If only some are html, all become html. Text
 * alternatives for only some parts are left out: they would hide the rest from readers of the text.
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
