import { escapeHtml } from '../../lib/html/html.ts';

/** `code` in a line. */
const inline = (text: string): string => escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');

/** `rate-limits` of `Rate limits`. */
export const anchorOf = (heading: string): string => heading.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

const cells = (line: string): readonly string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

const row = (line: string, tag: 'td' | 'th'): string =>
  `<tr>${cells(line)
    .map((cell) => `<${tag}>${inline(cell)}</${tag}>`)
    .join('')}</tr>`;

const table = ([head = '', , ...lines]: readonly string[]): string =>
  `<table>${row(head, 'th')}${lines.map((line) => row(line, 'td')).join('')}</table>`;

const list = (lines: readonly string[]): string =>
  `<ul>${lines.map((line) => `<li>${inline(line.slice('- '.length))}</li>`).join('')}</ul>`;

const block = (text: string): string => {
  const lines = text.split('\n');
  const heading = /^## (.+)$/.exec(text)?.[1];
  if (heading !== undefined) return `<h2 id="${anchorOf(heading)}">${inline(heading)}</h2>`;
  if (text.startsWith('|')) return table(lines);
  if (text.startsWith('- ')) return list(lines);
  return `<p>${inline(lines.join(' '))}</p>`;
};

/** Renders the Markdown that our document uses: paragraphs, `## headings`, lists, tables and `code`. */
export const markdown = (text: string): string =>
  text
    .split(/\n{2,}/)
    .map(block)
    .join('\n');
