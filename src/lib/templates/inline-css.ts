import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { CompiledHtml } from './compiler.ts';
import { depthProblem, markupIn, problemAt, withPlaceholders } from './markup.ts';
import type { TemplateProblem } from './template-renderer.ts';

/** Rules for media and states cannot be written into elements, so style sheets are kept as well. */
const INLINE_OPTIONS = { loadRemoteStylesheets: false, keepStyleTags: true } as const;
const CSS_INLINE_WASM = import.meta.resolve('@css-inline/css-inline-wasm/index_bg.wasm');
let cssInlineReady: Promise<void> | undefined;
const IS_DOCUMENT = /<(?:html|head|body|!doctype)\b/i;

const TABLE_BODY = /<tbody\b/gi;
/** Marks table bodies that are in the source. */
const WRITTEN = 'data-outbox-written';
const MARK = new RegExp(` ${WRITTEN}(?:="")?`);
const TABLE_BODY_EDGE = /<(\/?)tbody\b([^>]*)>/gi;

/**
 * Removes the bodies that a parser adds to tables: around rows that Liquid writes conditionally or in a loop, one would
 * be opened and closed a different number of times.
 */
const withoutImplied = (html: string): string => {
  const open: boolean[] = [];
  return html.replace(TABLE_BODY_EDGE, (_, slash: string, rest: string) => {
    if (slash === '') open.push(MARK.test(rest));
    const isWritten = slash === '' ? MARK.test(rest) : (open.pop() ?? true);
    return isWritten ? `<${slash}tbody${rest.replace(MARK, '')}>` : '';
  });
};

const loadCssInline = async () => {
  const library = await import('@css-inline/css-inline-wasm');
  // Its types cover only the older form, which prints a warning.
  const options = { module_or_path: readFileSync(fileURLToPath(CSS_INLINE_WASM)) } as unknown as Uint8Array;
  cssInlineReady ??= library.initWasm(options);
  await cssInlineReady;
  return library;
};

/** Declarations of a style attribute: quotations and brackets may contain `;`. */
const DECLARATION = /(?:&quot;.*?&quot;|&[a-z0-9#]+;|[^;"'(]|"[^"]*"|'[^']*'|\([^)]*\)|["'(])+/gi;
const IS_DECLARATION = /^\s*(?:-?[\w\u0080-\uffff-]+)\s*:/;
const STYLE_ATTRIBUTE = /\sstyle\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))/gi;

interface Declaration {
  readonly text: string;
  readonly offset: number;
}

const declarationsIn = (text: string): readonly Declaration[] =>
  markupIn(text).flatMap(({ kind, offset, end }) =>
    kind === 'comment' || kind === 'end'
      ? []
      : [...text.slice(offset, end).matchAll(STYLE_ATTRIBUTE)].flatMap((attribute) => {
          const value = attribute[1] ?? attribute[2] ?? attribute[3] ?? '';
          const start = offset + attribute.index + attribute[0].lastIndexOf(value);
          return Array.from(value.matchAll(DECLARATION), ({ 0: written, index }) => ({
            text: written.trim(),
            offset: start + index + (written.length - written.trimStart().length),
          }));
        }),
  );

const QUOTED_CHARACTERS_MAX = 80;

const malformed = (html: string, source: string): TemplateProblem | null => {
  const { text } = withPlaceholders(html, false);
  const found = declarationsIn(text).find((each) => each.text !== '' && !IS_DECLARATION.test(each.text));
  if (found === undefined) return null;
  const written = html.slice(found.offset, found.offset + found.text.length);
  const offset = html === source ? found.offset : Math.max(0, source.indexOf(written));
  const shown = written.length > QUOTED_CHARACTERS_MAX ? `${written.slice(0, QUOTED_CHARACTERS_MAX)}…` : written;
  return problemAt(source, offset, `the declaration \`${shown}\` in a style attribute must be \`property: value\``);
};

/**
 * Writes the style sheets of html, and `css`, into the elements they apply to.
 * @param source the original template, if the html was made from MJML: problems name places in it.
 */
export const inlineCss = async (html: string, css: string, source: string): Promise<CompiledHtml> => {
  const sheet = withPlaceholders(`<style>${css}</style>${html}`, true);
  const cut = sheet.text.indexOf('</style>');
  const [styles, text] = [sheet.text.slice('<style>'.length, cut), sheet.text.slice(cut + '</style>'.length)];
  const problem = depthProblem(html, markupIn(withPlaceholders(html, false).text));
  if (problem !== null) return { problem };
  const cssInline = await loadCssInline();
  const marked = text.replace(TABLE_BODY, `<tbody ${WRITTEN}`);
  try {
    const inlined = IS_DOCUMENT.test(html)
      ? cssInline.inline(marked, { ...INLINE_OPTIONS, extraCss: styles })
      : cssInline.inlineFragment(marked, styles, INLINE_OPTIONS);
    return { html: sheet.restore(withoutImplied(inlined)) };
  } catch (error) {
    // The library throws a string for input that it rejects. Anything else is a fault of its own.
    if (typeof error !== 'string') throw error;
    return { problem: malformed(html, source) ?? problemAt(source, 0, `the styles could not be inlined: ${error}`) };
  }
};
