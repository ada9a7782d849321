import type { MjmlError } from 'mjml';
import { withImpliedEndTags } from './implied-end-tags.ts';
import { type WithPlaceholders, withPlaceholders } from './liquid-placeholders.ts';
import { isVoid, type Markup, markupIn, problemAt, rewriteMarkup } from './markup.ts';
import { isMjml, mjmlProblem } from './mjml-problem.ts';
import type { CompiledHtml } from './template-compiler.ts';
import type { TemplateProblem } from './template-renderer.ts';

/**
 * MJML by the official compiler. It tolerates more than a template may lose: unknown elements and text between
 * components disappear, and a missing end tag moves the content after it. These are rejected first, with line and
 * column. Known output errors are corrected before or after compiling: quotation marks in attributes, comments in a
 * carousel, and html next to `mj-html-attributes`, which the compiler reads as XML.
 */

const SINGLE_QUOTED = /"[^"]*"|'([^']*)'/g;

/** The compiler writes values unescaped between double quotes, and looks for end tags in lower case. */
const withPlainTags = (text: string, markup: readonly Markup[]): string =>
  rewriteMarkup(text, markup, (tag, each) =>
    isMjml(each)
      ? tag
          .replace(/^<\/?[a-z-]+/i, (start) => start.toLowerCase())
          .replaceAll(SINGLE_QUOTED, (whole, value?: string) =>
            value === undefined ? whole : `"${value.replaceAll('"', '&quot;')}"`,
          )
      : tag,
  );

const WITHOUT_COMMENTS = /<mj-(carousel|html-attributes)\b[\s\S]*?<\/mj-\1/g;
const COMMENT = /<!--[\s\S]*?-->/g;

/** The compiler treats comments as components, which are not allowed everywhere. Keeps the length. */
const withFewerComments = (text: string): string =>
  text.replaceAll(WITHOUT_COMMENTS, (block) => block.replaceAll(COMMENT, (comment) => comment.replaceAll(/\S/g, ' ')));

/** Closes elements for an XML parser, which would leave `<br>` open, and `<li>` before another one. */
const withClosedElements = (text: string): string => {
  const ended = withImpliedEndTags(text, markupIn(text), isMjml);
  return rewriteMarkup(ended, markupIn(ended), (tag, { kind }) =>
    kind === 'void' && !tag.endsWith('/>') ? `${tag.slice(0, -1)}/>` : tag,
  );
};

/** An XML writer turns an empty element into `<div/>`, which browsers leave open. */
const withEndTags = (html: string): string =>
  rewriteMarkup(html, markupIn(html), (tag, { kind, name }) =>
    kind === 'void' && !isVoid(name) && !tag.startsWith(`<${name}:`) ? `${tag.slice(0, -2)}></${name}>` : tag,
  );

const HAS_HTML_ATTRIBUTES = /<mj-html-attributes\b/;

const OPTIONS = {
  // MJML loads fonts from Google by name, which would tell a third party who reads the mail.
  fonts: {},
  ignoreIncludes: true,
  keepComments: true,
  filePath: '',
  noMigrateWarn: true,
} as const;

const offsetOfLine = (text: string, line: number): number => {
  let offset = 0;
  for (let each = 1; each < line; each += 1) offset = text.indexOf('\n', offset) + 1;
  return offset;
};

const NOT_INSIDE = /^(\S+) cannot be used inside (\S+), only inside: (.*)$/;

const isAboutAttribute = ({ message }: MjmlError): boolean => message.startsWith('Attribute');

const problemOfError = (source: string, text: string, { line, tagName, message }: MjmlError): TemplateProblem => {
  const lineStart = offsetOfLine(text, line);
  const offset = Math.max(lineStart, text.indexOf(`<${tagName}`, lineStart));
  const [, name, parent, parents] = NOT_INSIDE.exec(message) ?? [];
  const sentence =
    name === undefined
      ? `unknown element <${tagName}>`
      : `<${name}> is not allowed in <${parent}>, only in: ${parents}`;
  return problemAt(source, offset, sentence);
};

/** The errors of a strict validation; null if it failed for another reason. */
const errorsOf = (error: unknown): readonly MjmlError[] | null =>
  error instanceof Error && 'errors' in error ? (error.errors as readonly MjmlError[]) : null;

interface Compiled {
  /** null: compiling failed. */
  readonly html: string | null;
  readonly errors: readonly MjmlError[];
  readonly reason: string;
}

const attempt = (compile: () => { readonly html: string }): Compiled => {
  try {
    return { html: compile().html, errors: [], reason: '' };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { html: null, errors: errorsOf(error) ?? [], reason };
  }
};

/** Attributes that MJML does not know, and values of another type, are accepted, because mail clients ignore them. */
const compileText = async (text: string): Promise<Compiled> => {
  const { default: compile } = await import('mjml');
  const strict = attempt(() => compile(text, { ...OPTIONS, validationLevel: 'strict' }));
  if (strict.html !== null || !strict.errors.every(isAboutAttribute)) return strict;
  return { ...attempt(() => compile(text, { ...OPTIONS, validationLevel: 'skip' })), errors: strict.errors };
};

const PLAIN_VALUE = 'MJML calculates with this value: write it here, without Liquid';

/** A width written in Liquid has no number to calculate with. */
const calculationProblem = (
  source: string,
  { firstIn }: WithPlaceholders,
  errors: readonly MjmlError[],
): TemplateProblem | null => {
  const offset = firstIn(errors.map(({ message }) => message).join());
  return offset === null ? null : problemAt(source, offset, PLAIN_VALUE);
};

const problemOf = (source: string, placeholders: WithPlaceholders, compiled: Compiled): TemplateProblem | null => {
  const { html, errors, reason } = compiled;
  const misplaced = errors.find((each) => !isAboutAttribute(each));
  if (misplaced !== undefined) return problemOfError(source, placeholders.text, misplaced);
  const calculation = calculationProblem(source, placeholders, errors);
  if (html === null) return calculation ?? problemAt(source, 0, `the MJML could not be compiled: ${reason}`);
  if (calculation !== null && html.includes('NaN') && !source.includes('NaN')) return calculation;
  const lost = placeholders.lost(html);
  return lost === null ? null : problemAt(source, lost, PLAIN_VALUE);
};

export const compileMjml = async (source: string): Promise<CompiledHtml> => {
  const placeholders = withPlaceholders(source, false);
  const markup = markupIn(placeholders.text);
  const wrong = mjmlProblem(source, placeholders.text, markup);
  if (wrong !== null) return { problem: wrong };
  const plain = withFewerComments(withPlainTags(placeholders.text, markup));
  const isXml = HAS_HTML_ATTRIBUTES.test(plain);
  const compiled = await compileText(isXml ? withClosedElements(plain) : plain);
  const problem = problemOf(source, placeholders, compiled);
  if (problem !== null) return { problem };
  const html = compiled.html ?? '';
  return { html: placeholders.restore(isXml ? withEndTags(html) : html) };
};
