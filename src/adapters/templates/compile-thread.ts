import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parentPort } from 'node:worker_threads';
import type { CompiledHtml, TemplateSource } from '../../domain/ports/template-compiler.ts';
import type { TemplateProblem } from '../../domain/ports/template-renderer.ts';
import { withPlaceholders } from './liquid-placeholders.ts';

/** Entry of the thread that compiles templates. The libraries are loaded when one needs them: WebAssembly, no file access. */

/** More overflows the stack of the MJML library, which never comes back from that. */
const MJML_DEPTH_MAX = 50;
const HTML_DEPTH_MAX = 300;
/** Void in MJML too: they open nothing. */
const VOID = /^(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)$/;

/** https://documentation.mjml.io/#components */
const MJML_ELEMENTS: ReadonlySet<string> = new Set(
  ['accordion', 'accordion-element', 'accordion-text', 'accordion-title', 'all', 'attributes', 'body', 'breakpoint']
    .concat(['button', 'carousel', 'carousel-image', 'class', 'column', 'divider', 'font', 'group', 'head', 'hero'])
    .concat(['image', 'include', 'navbar', 'navbar-link', 'preview', 'raw', 'section', 'social', 'social-element'])
    .concat(['spacer', 'style', 'table', 'text', 'title', 'wrapper', 'html-attributes', 'selector', 'html-attribute'])
    .map((name) => `mj-${name}`),
);

const TAG = /<!--[\s\S]*?-->|<(\/?)([a-zA-Z][a-zA-Z0-9-]*)(?:[^>"']|"[^"]*"|'[^']*')*?(\/?)>/g;

const placeOf = (source: string, offset: number): Pick<TemplateProblem, 'line' | 'column'> => {
  const before = source.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: offset - lineStart + 1 };
};

const problemAt = (source: string, offset: number, sentence: string): TemplateProblem => ({
  ...placeOf(source, offset),
  sentence,
});

interface Tag {
  readonly name: string;
  readonly change: 1 | 0 | -1;
  readonly offset: number;
}

function* tagsIn(text: string): Generator<Tag> {
  for (const { 1: slash, 2: rawName, 3: selfClosing, index } of text.matchAll(TAG)) {
    const name = rawName?.toLowerCase();
    if (name === undefined || VOID.test(name)) continue;
    const change = slash === '/' ? -1 : 1;
    yield { name, change: selfClosing === '/' ? 0 : change, offset: index };
  }
}

/** @param source placeholders are as long as what they replace. */
const depthProblem = (source: string, text: string, depthMax: number): TemplateProblem | null => {
  let depth = 0;
  for (const { change, offset } of tagsIn(text)) {
    depth = Math.max(0, depth + change);
    if (depth > depthMax) return problemAt(source, offset, `elements are nested more than ${depthMax} deep`);
  }
  return null;
};

/** @param open names of the elements around it; changed by it. */
const sentenceOf = ({ name, change }: Tag, open: string[]): string | null => {
  if (!MJML_ELEMENTS.has(name)) return `unknown element <${name}>`;
  if (change === 1) open.push(name);
  return change === -1 && open.pop() !== name ? `unexpected end tag </${name}>` : null;
};

/** The library takes unknown elements for html, and any end tag for the one it waits for. */
const elementProblem = (source: string, text: string): TemplateProblem | null => {
  const open: string[] = [];
  for (const tag of tagsIn(text)) {
    const sentence = tag.name.startsWith('mj-') ? sentenceOf(tag, open) : null;
    if (sentence !== null) return problemAt(source, tag.offset, sentence);
  }
  return null;
};

const SENTENCES: Readonly<Record<string, string>> = {
  'unexpected-element': 'this element must not stand here',
  'unexpected-token': 'this must not stand here',
  'missing-attribute': 'an attribute is missing',
  'invalid-attribute': 'an attribute is invalid',
  'invalid-format': 'the format is invalid',
  'end-of-stream': 'it ends inside an element',
  'no-root-node': 'it must begin with <mjml>',
  'include-loader-error': 'mj-include is not supported: use a layout',
  'parser-error': 'it is no well-formed XML',
};

/** The library counts bytes of UTF-8. */
const offsetOfByte = (text: string, byte: number): number => Buffer.from(text).subarray(0, byte).toString().length;

type MjmlError = Extract<ReturnType<InstanceType<typeof import('mrml').Engine>['toHtml']>, { readonly type: 'error' }>;

const problemOfError = (source: string, text: string, error: MjmlError): TemplateProblem => {
  if (error.origin !== 'parser') return problemAt(source, 0, error.message);
  const { details } = error;
  const byte = 'position' in details ? details.position.start : null;
  const end = details.type === 'no-root-node' ? 0 : source.length;
  const offset = byte === null ? end : offsetOfByte(text, byte);
  const name = details.type === 'missing-attribute' ? `: ${details.name}` : '';
  return problemAt(source, offset, (SENTENCES[details.type] ?? error.message) + name);
};

/** @returns `needsInlining`: it has styles that are to be written into elements (`mj-style inline`). */
const compileMjml = async (source: string): Promise<CompiledHtml & { readonly needsInlining?: boolean }> => {
  const { text, restore, lost: lostIn } = withPlaceholders(source, false);
  const problem = depthProblem(source, text, MJML_DEPTH_MAX) ?? elementProblem(source, text);
  if (problem !== null) return { problem };
  const { Engine } = await import('mrml');
  const engine = new Engine();
  // None of the fonts that MJML loads from Google by name: a reader is told to no third party.
  engine.setRenderOptions({ disableComments: false, socialIconOrigin: null, fonts: {} });
  const result = engine.toHtml(text);
  engine.free();
  if (result.type === 'error') return { problem: problemOfError(source, text, result) };
  const lost = lostIn(result.content);
  if (lost !== null)
    return { problem: problemAt(source, lost, 'MJML makes nothing of this: it needs a plain value here') };
  const needsInlining = result.warnings.some(({ kind }) => kind === 'inline-style-unsupported');
  return { html: restore(result.content), needsInlining };
};

/** Rules for media and states cannot be written into elements: style sheets stay as well. */
const INLINE_OPTIONS = { loadRemoteStylesheets: false, keepStyleTags: true } as const;
const CSS_INLINE_WASM = import.meta.resolve('@css-inline/css-inline-wasm/index_bg.wasm');
let cssInlineReady: Promise<void> | undefined;
const IS_DOCUMENT = /<(?:html|head|body|!doctype)\b/i;

const TABLE_BODY = /<tbody\b/gi;
/** Marks the bodies of tables that the source has. */
const WRITTEN = 'data-outbox-written';
const MARK = new RegExp(` ${WRITTEN}(?:="")?`);
const TABLE_BODY_EDGE = /<(\/?)tbody\b([^>]*)>/gi;

/**
 * Without the bodies that a parser adds to tables: one around rows that Liquid writes conditionally or in a loop would be
 * opened and closed a different number of times.
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
  // Its types know the older form only, for which it prints a warning.
  const options = { module_or_path: readFileSync(fileURLToPath(CSS_INLINE_WASM)) } as unknown as Uint8Array;
  cssInlineReady ??= library.initWasm(options);
  await cssInlineReady;
  return library;
};

const inline = async (html: string, css: string): Promise<CompiledHtml> => {
  const sheet = withPlaceholders(`<style>${css}</style>${html}`, true);
  const cut = sheet.text.indexOf('</style>');
  const [styles, text] = [sheet.text.slice('<style>'.length, cut), sheet.text.slice(cut + '</style>'.length)];
  const problem = depthProblem(html, withPlaceholders(html, false).text, HTML_DEPTH_MAX);
  if (problem !== null) return { problem };
  const cssInline = await loadCssInline();
  const marked = text.replace(TABLE_BODY, `<tbody ${WRITTEN}`);
  const inlined = IS_DOCUMENT.test(html)
    ? cssInline.inline(marked, { ...INLINE_OPTIONS, extraCss: styles })
    : cssInline.inlineFragment(marked, styles, INLINE_OPTIONS);
  return { html: sheet.restore(withoutImplied(inlined)) };
};

const compile = async ({ html, format, inlineCss }: TemplateSource): Promise<CompiledHtml> => {
  const made = format === 'mjml' ? await compileMjml(html) : { html };
  if ('problem' in made) return { problem: made.problem };
  const css = inlineCss ?? (made.needsInlining === true ? '' : null);
  return css === null ? { html: made.html } : inline(made.html, css);
};

/** A library that ran out of its memory or stack cannot be used again: the thread ends, and the next task gets a new one. */
const answer = async (source: TemplateSource): Promise<void> => {
  try {
    parentPort?.postMessage({ result: await compile(source) });
  } catch {
    const sentence = 'it cannot be compiled: make it simpler';
    parentPort?.postMessage({ result: { problem: { line: 1, column: 1, sentence } } });
    process.exit();
  }
};

parentPort?.on('message', (source: TemplateSource) => void answer(source));
