import type { HiddenTextFact, HtmlFacts, HtmlProblem } from '../../../lib/html/html.ts';
import { type Check, type Discovery, discovery } from '../facts.ts';

/** Rules about the HTML as a whole: what is invalid, too large, stripped by readers, or hidden from people. */

/** Elements within elements; some readers give up before this, and no mail needs it. */
const DEPTH_MAX = 100;

/** Html that the strict rule refuses. */
export const invalidHtml = (problems: readonly HtmlProblem[]): readonly Discovery[] =>
  problems.map(({ line, column, message }) =>
    discovery('html-invalid', 'html', `not valid HTML: ${message}`, { line, column }),
  );

/** Html that the strict rule refuses, and html that is valid and makes trouble all the same. */
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
/** Gmail shows no more of the html, counted in UTF-8. */
const CLIPPED_KIB = 102;
/** Many mailboxes and gateways take no more, and every recipient stores it. */
const MESSAGE_BYTES_MAX = 10_000_000;
const MEGABYTE = 1_000_000;

/** How much of the mail arrives and is shown. */
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

/** What readers strip from mail, or take for an attack; and styles that most do not load. */
export const activeContent: Check = function* ({ html }) {
  for (const { what, offset } of html?.activeContents ?? []) {
    yield discovery('active-content', 'html', () => `${what} does not work in mail`, offset);
  }
  for (const { what, offset } of html?.externalStyles ?? []) {
    yield discovery('external-style', 'html', () => `${what} loads a style sheet, which most readers do not`, offset);
  }
};

/** The line that lists of mails show after the subject is hidden in the mail itself: so long it may be. */
const PREHEADER_CHARACTERS_MAX = 200;

const isPreheader = ({ atStart, characters }: HiddenTextFact, index: number): boolean =>
  index === 0 && atStart && characters <= PREHEADER_CHARACTERS_MAX;

/** A style sheet with media queries shows it on other screens; so is mail made that fits them. */
const isForOtherScreens = ({ selectable }: HiddenTextFact, { hasMediaQueries }: HtmlFacts): boolean =>
  selectable && hasMediaQueries;

/** Text that filters read and people do not. Styles are judged where they stand inline; style sheets are not applied. */
export const hiddenText: Check = function* ({ html }) {
  for (const [index, hidden] of (html?.hiddenTexts ?? []).entries()) {
    if (html === null || isPreheader(hidden, index) || isForOtherScreens(hidden, html)) continue;
    const { by, characters, offset } = hidden;
    yield discovery('hidden-text', 'html', () => `text of length ${characters} is hidden by ${by}`, offset);
  }
};
