import type { HiddenTextFact, HtmlFacts, HtmlProblem } from '../../../lib/html/html.ts';
import { type Check, type Discovery, discovery } from '../facts.ts';

/** Rules about the HTML as a whole: invalid, too large, stripped by mail clients, or hidden from people. */

/** Maximum nesting of elements. Some mail clients give up earlier, and no mail needs this much. */
const DEPTH_MAX = 100;

/** Findings for HTML that the strict rule rejects. */
export const invalidHtml = (problems: readonly HtmlProblem[]): readonly Discovery[] =>
  problems.map(({ line, column, message }) =>
    discovery('html-invalid', 'html', `not valid HTML: ${message}`, { line, column }),
  );

/** Reports HTML that the strict rule rejects, and valid HTML that still causes trouble. */
export const validHtml: Check = function* ({ html }) {
  if (html === null) return;
  yield* invalidHtml(html.problems);
  for (const { what, offset } of html.repeatedAttributes) {
    yield discovery('html-attribute-repeated', 'html', () => `the attribute ${what} is written twice in a tag`, offset);
  }
  if (html.depth > DEPTH_MAX) yield discovery('html-deep', 'html', `elements are nested ${html.depth} deep`);
  if (html.root?.lang === '') {
    yield discovery('html-lang-missing', 'html', 'the html element has no lang', html.root.offset);
  }
};

const KIB = 1024;
/** Gmail clips HTML after this size, measured in UTF-8. */
const CLIPPED_KIB = 102;
/** Many mailboxes and gateways accept no more, and every recipient stores a copy. */
const MESSAGE_BYTES_MAX = 10_000_000;
const MEGABYTE = 1_000_000;

/** Reports mail that is too large to be delivered or shown in full. */
export const size: Check = function* ({ html, sizeBytes }) {
  const htmlBytes = Buffer.byteLength(html?.source ?? '');
  if (htmlBytes > CLIPPED_KIB * KIB) {
    const said = `the html is ${Math.ceil(htmlBytes / KIB)} kB: Gmail cuts it after ${CLIPPED_KIB} kB`;
    yield discovery('html-clipped', 'html', said);
  }
  if (sizeBytes > MESSAGE_BYTES_MAX) {
    const said = `the message is about ${(sizeBytes / MEGABYTE).toFixed(1)} MB`;
    yield discovery('message-large', 'attachments', said);
  }
};

/** Reports content that mail clients strip or treat as an attack, and external styles that most clients do not load. */
export const activeContent: Check = function* ({ html }) {
  for (const { what, offset } of html?.activeContents ?? []) {
    yield discovery('active-content', 'html', () => `${what} does not work in mail`, offset);
  }
  for (const { what, offset } of html?.externalStyles ?? []) {
    yield discovery('external-style', 'html', () => `${what} loads a style sheet, which most readers do not`, offset);
  }
};

/** Maximum length of a preheader: text hidden in the mail that mailboxes show after the subject in their lists. */
const PREHEADER_CHARACTERS_MAX = 200;

const isPreheader = ({ atStart, characters }: HiddenTextFact, index: number): boolean =>
  index === 0 && atStart && characters <= PREHEADER_CHARACTERS_MAX;

/** A style sheet with media queries can show the text on other screens, the usual technique for responsive mail. */
const isForOtherScreens = ({ selectable }: HiddenTextFact, { hasMediaQueries }: HtmlFacts): boolean =>
  selectable && hasMediaQueries;

/**
 * Reports text that filters read and people do not see. Only inline styles are evaluated; style sheets are not applied.
 */
export const hiddenText: Check = function* ({ html }) {
  for (const [index, hidden] of (html?.hiddenTexts ?? []).entries()) {
    if (html === null || isPreheader(hidden, index) || isForOtherScreens(hidden, html)) continue;
    const { by, characters, offset } = hidden;
    yield discovery('hidden-text', 'html', () => `text of length ${characters} is hidden by ${by}`, offset);
  }
};
