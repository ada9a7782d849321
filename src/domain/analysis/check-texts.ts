import { type Hit, type HtmlFacts, hitsIn, hitsInSpans, quoted, seenCharacters } from '../../lib/html/html.ts';
import { hasViewUrl } from '../message/tokens.ts';
import { type Check, type Discovery, discovery, type MessageFacts, mailboxFields } from './facts.ts';

/**
 * Rules about the texts: unfilled variables, damaged characters, secrets, and a plain text that differs from the HTML.
 */

/**
 * Placeholders of common template languages. Matching is linear: the inside of a placeholder cannot contain its own
 * beginning, and its length is bounded.
 */
const MARKERS = [
  /\{{2,3}[^{}\n]{1,200}\}{2,3}/, // Handlebars, Mustache, Jinja, Liquid
  /\{%[^{}%\n]{1,200}%\}/, // Jinja, Liquid, Twig
  /<%[^<>%\n]{1,200}%>/, // EJS, ERB
  /&lt;%[^<>%&\n]{1,200}%&gt;/, // EJS, ERB, escaped by an editor
  /\$\{[A-Za-z_][\w.]{0,100}\}/, // template literals, FreeMarker
  /%%[A-Za-z][\w ]{0,100}%%/, // AMPscript
  /\[\[[A-Za-z_][\w .:-]{0,100}\]\]/, // Zoho, Klaviyo
  /\*\|[A-Za-z][\w:]{0,100}\|\*/, // Mailchimp
  /\[object Object\]/,
];
const ANY_MARKER = MARKERS.map(({ source }) => source).join('|');
const MARKER = new RegExp(ANY_MARKER, 'g');
/** Without the global flag, so that `test` keeps no state. */
const FIRST_MARKER = new RegExp(ANY_MARKER);

/** Whether the text contains an unfilled template variable. */
export const hasMarker = (text: string): boolean => FIRST_MARKER.test(text);

const notFilledIn = (hit: Hit) => () => `${quoted(hit.text)} was not filled in`;

/** The view URL in a body is filled in when the message is sent. */
const isLeftOpen = ({ text }: Hit): boolean => !hasViewUrl(text);

/** Markers that the HTML shows as code. The plain text repeats them without a sign that they are code. */
const markersInCode = (html: HtmlFacts | null): ReadonlySet<string> => {
  const spans = html?.spans.filter(({ kind }) => kind === 'code') ?? [];
  return new Set(Array.from(hitsInSpans(html?.source ?? '', spans, MARKER), ({ text }) => text));
};

function* markersInBodies({ html, text = '' }: MessageFacts): Generator<Discovery> {
  const spans = html?.spans.filter(({ kind }) => kind !== 'code') ?? [];
  for (const hit of hitsInSpans(html?.source ?? '', spans, MARKER).filter(isLeftOpen)) {
    yield discovery('template-marker', 'html', notFilledIn(hit), hit.offset);
  }
  const inCode = markersInCode(html);
  for (const hit of hitsIn(text, MARKER).filter(isLeftOpen)) {
    if (!inCode.has(hit.text)) yield discovery('template-marker', 'text', notFilledIn(hit), hit.offset);
  }
}

/** Reports template variables that were not filled in. */
export const templateMarkers: Check = function* (facts) {
  for (const hit of hitsIn(facts.subject, MARKER)) yield discovery('template-marker', 'subject', notFilledIn(hit));
  for (const [field, { name = '' }] of mailboxFields(facts)) {
    for (const hit of hitsIn(name, MARKER)) yield discovery('template-marker', field, notFilledIn(hit));
  }
  yield* markersInBodies(facts);
};

/**
 * U+FFFD, and the two or three letters that appear when the UTF-8 of ä, ’ or emoji is read as Latin-1 or Windows-1252.
 * A run counts once, because damaged text has one at every accent.
 */
const DAMAGE = [
  /\ufffd+/,
  /(?:[\u00c2\u00c3][\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u2013-\u203a\u20ac\u2122])+/,
  /\u00e2\u20ac[\u0080-\u00bf\u0152\u0153\u0161\u017e\u02dc\u201c\u201d\u2018\u2019\u2122]/,
  /\u00ef\u00bb\u00bf|\u00f0\u0178/,
];
/** Entities such as `&nbsp;` that people see unrendered. */
const ENTITY = '(?:nbsp|amp|lt|gt|quot|apos|copy|reg|euro|mdash|ndash|hellip|[lr][sd]quo|[aouAOU]uml|szlig|#\\d{2,6});';
const DAMAGED = DAMAGE.map(({ source }) => source).join('|');
/** In plain text an entity is always visible. In HTML it is visible only if its own `&` is escaped. */
const IN_TEXT = new RegExp(`${DAMAGED}|&${ENTITY}`, 'g');
const IN_HTML = new RegExp(`${DAMAGED}|&amp;${ENTITY}`, 'g');

const damageOf =
  ({ text }: Hit) =>
  () =>
    text.startsWith('&') ? `${quoted(text)} is escaped twice` : `${quoted(text)} is in the wrong character encoding`;

/** Reports text that was read or written in the wrong encoding. */
export const encodingDamage: Check = function* (facts) {
  const { subject, html, text = '' } = facts;
  for (const hit of hitsIn(subject, IN_TEXT)) yield discovery('encoding-damage', 'subject', damageOf(hit));
  for (const [field, { name = '' }] of mailboxFields(facts)) {
    for (const hit of hitsIn(name, IN_TEXT)) yield discovery('encoding-damage', field, damageOf(hit));
  }
  // Attributes are skipped, because `&amp;amp;` can be correct in a link.
  const spans = html?.spans.filter(({ kind }) => kind === 'text') ?? [];
  for (const hit of hitsInSpans(html?.source ?? '', spans, IN_HTML)) {
    yield discovery('encoding-damage', 'html', damageOf(hit), hit.offset);
  }
  for (const hit of hitsIn(text, IN_TEXT)) yield discovery('encoding-damage', 'text', damageOf(hit), hit.offset);
};

/** Patterns that only secrets match: this service's keys, AWS, Stripe, GitHub, Slack, and private keys in PEM. */
const SECRET =
  /\b(?:ob_(?:live|test)_[0-9A-Za-z]{49}|AKIA[0-9A-Z]{16}|[rs]k_live_[0-9A-Za-z]{16,64}|gh[opsu]_[0-9A-Za-z]{36,64}|xox[abprs]-[0-9A-Za-z-]{10,72})\b|-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY-----/g;
/** Enough to reveal the kind of secret without the secret itself. */
const SHOWN_CHARACTERS = 8;

const found = (field: string, { text, offset }: Hit): Discovery =>
  discovery(
    'secret',
    field,
    () => `the text that begins with ${text.slice(0, SHOWN_CHARACTERS)} looks like a secret`,
    offset,
  );

/** Reports secrets in the texts. */
export const secrets: Check = function* ({ html, text = '' }) {
  for (const hit of hitsInSpans(html?.source ?? '', html?.spans ?? [], SECRET)) yield found('html', hit);
  for (const hit of hitsIn(text, SECRET)) yield found('text', hit);
};

/** Only the beginnings are compared, about three thousand words. Higher: slower, with the same result. */
const COMPARED_CHARACTERS_MAX = 20_000;
/** Enough for any layout. Higher: a page of a hundred thousand images takes longer, with the same result. */
const COMPARED_IMAGES_MAX = 100;
/**
 * Below this, a few words more or less do not make another message. Only an almost complete lack of shared words does.
 */
const WORDS_MIN = 20;
/** Lower: two wordings of the same text are reported as different. Higher: short mail with another text passes. */
const SHORT_WORDS_MIN = 5;
/** Like `SHARED_MIN`, for short mail: one common word ("your", "the") in five is chance. */
const SHORT_SHARED_MIN = 0.25;
/** Share of the shorter text's words that the longer one must contain. A faithful text has nearly all. */
const SHARED_MIN = 0.4;
/** The minimum length of the text in words, as a share of the HTML's: "see the web version" is not the same message. */
const WORDS_SHARE_MIN = 0.15;

/** In scripts without spaces, each character is a word. */
const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\u30fc]|[\p{L}\p{N}]{3,40}/gu;

const wordsOf = (text: string): ReadonlySet<string> =>
  new Set(text.slice(0, COMPARED_CHARACTERS_MAX).toLowerCase().match(WORD) ?? []);

/** Includes the `alt` of images, because a plain text repeats it. */
const shownIn = ({ visibleText, images }: HtmlFacts): string =>
  [visibleText, ...images.slice(0, COMPARED_IMAGES_MAX).map(({ alt }) => alt ?? '')].join(' ');

const isFar = (text: string, html: HtmlFacts): boolean => {
  const shown = wordsOf(html.visibleText);
  const said = wordsOf(text);
  if (shown.size < WORDS_MIN) {
    const all = wordsOf(shownIn(html));
    const shorter = Math.min(all.size, said.size);
    return shorter >= SHORT_WORDS_MIN && all.intersection(said).size < shorter * SHORT_SHARED_MIN;
  }
  const shared = shown.intersection(said).size;
  return said.size < shown.size * WORDS_SHARE_MIN || shared < Math.min(said.size, shown.size) * SHARED_MIN;
};

function* emptiness(html: HtmlFacts | null, text: string | undefined): Generator<Discovery> {
  const showsNothing = html !== null && html.visibleCharacters === 0 && html.images.length === 0;
  if (showsNothing) yield discovery('body-empty', 'html', 'the html shows nothing');
  const isBlank = text !== undefined && seenCharacters(text) === 0;
  if (isBlank) yield discovery('body-empty', 'text', 'the text has no visible character');
}

/** Reports a plain text that is missing, empty or different from the HTML. */
export const textPart: Check = function* ({ html, text }) {
  yield* emptiness(html, text);
  if (html === null) return;
  if (text === undefined) {
    yield discovery('text-missing', 'text', 'there is no plain text: it will be generated from the html');
  } else if (isFar(text, html)) {
    yield discovery('text-differs', 'text', 'the plain text and the html do not say the same');
  }
};
