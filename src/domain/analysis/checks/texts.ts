import { type Hit, type HtmlFacts, hitsIn, hitsInSpans, quoted, seenCharacters } from '../../../lib/html/html.ts';
import { hasViewUrl } from '../../message/recipient-link.ts';
import { type Check, type Discovery, discovery, type MessageFacts, mailboxFields } from '../facts.ts';

/**
 * Rules about what the texts say: variables left open, damaged characters, secrets, and a plain text that is another
 * message.
 */

/**
 * What template languages write where a value belongs. In none can the inside contain its own beginning, and each is
 * bounded, so that a search is linear.
 */
const MARKERS = [
  /\{{2,3}[^{}\n]{1,200}\}{2,3}/, // Handlebars, Mustache, Jinja, Liquid
  /\{%[^{}%\n]{1,200}%\}/, // Jinja, Liquid, Twig
  /<%[^<>%\n]{1,200}%>/, // EJS, ERB
  /&lt;%[^<>%&\n]{1,200}%&gt;/, // the same, escaped by an editor
  /\$\{[A-Za-z_][\w.]{0,100}\}/, // template literals, FreeMarker
  /%%[A-Za-z][\w ]{0,100}%%/, // AMPscript
  /\[\[[A-Za-z_][\w .:-]{0,100}\]\]/, // Zoho, Klaviyo
  /\*\|[A-Za-z][\w:]{0,100}\|\*/, // Mailchimp
  /\[object Object\]/,
];
const ANY_MARKER = MARKERS.map(({ source }) => source).join('|');
const MARKER = new RegExp(ANY_MARKER, 'g');
/** Without a state of its own. */
const FIRST_MARKER = new RegExp(ANY_MARKER);

/** Whether a template has left something open in it. */
export const hasMarker = (text: string): boolean => FIRST_MARKER.test(text);

const notFilledIn = (hit: Hit) => () => `${quoted(hit.text)} was not filled in`;

/** Bodies have one that is filled in when they are sent. */
const isLeftOpen = ({ text }: Hit): boolean => !hasViewUrl(text);

/** Markers that the html shows as code. The plain text beside it shows them too, without a sign that they are code. */
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

/** Variables that a template did not fill in. */
export const templateMarkers: Check = function* (facts) {
  for (const hit of hitsIn(facts.subject, MARKER)) yield discovery('template-marker', 'subject', notFilledIn(hit));
  for (const [field, { name = '' }] of mailboxFields(facts)) {
    for (const hit of hitsIn(name, MARKER)) yield discovery('template-marker', field, notFilledIn(hit));
  }
  yield* markersInBodies(facts);
};

/**
 * U+FFFD, and UTF-8 that was read as Latin-1 or Windows-1252: the two or three letters that it makes of ä, ’ and emoji.
 * Runs are taken together, since a text is damaged at every accent.
 */
const DAMAGE = [
  /\ufffd+/,
  /(?:[\u00c2\u00c3][\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u2013-\u203a\u20ac\u2122])+/,
  /\u00e2\u20ac[\u0080-\u00bf\u0152\u0153\u0161\u017e\u02dc\u201c\u201d\u2018\u2019\u2122]/,
  /\u00ef\u00bb\u00bf|\u00f0\u0178/,
];
/** `&nbsp;` that readers see as such. */
const ENTITY = '(?:nbsp|amp|lt|gt|quot|apos|copy|reg|euro|mdash|ndash|hellip|[lr][sd]quo|[aouAOU]uml|szlig|#\\d{2,6});';
const DAMAGED = DAMAGE.map(({ source }) => source).join('|');
/** In text, an entity is text; in html it is, once its own `&` is escaped. */
const IN_TEXT = new RegExp(`${DAMAGED}|&${ENTITY}`, 'g');
const IN_HTML = new RegExp(`${DAMAGED}|&amp;${ENTITY}`, 'g');

const damageOf =
  ({ text }: Hit) =>
  () =>
    text.startsWith('&') ? `${quoted(text)} is escaped once too often` : `${quoted(text)} is text in a wrong encoding`;

/** Text that was read or written in the wrong encoding somewhere. */
export const encodingDamage: Check = function* (facts) {
  const { subject, html, text = '' } = facts;
  for (const hit of hitsIn(subject, IN_TEXT)) yield discovery('encoding-damage', 'subject', damageOf(hit));
  for (const [field, { name = '' }] of mailboxFields(facts)) {
    for (const hit of hitsIn(name, IN_TEXT)) yield discovery('encoding-damage', field, damageOf(hit));
  }
  // Attributes are left out: in a link, &amp;amp; may be meant.
  const spans = html?.spans.filter(({ kind }) => kind === 'text') ?? [];
  for (const hit of hitsInSpans(html?.source ?? '', spans, IN_HTML)) {
    yield discovery('encoding-damage', 'html', damageOf(hit), hit.offset);
  }
  for (const hit of hitsIn(text, IN_TEXT)) yield discovery('encoding-damage', 'text', damageOf(hit), hit.offset);
};

/** Forms that nothing but a secret has: this service's keys, AWS, Stripe, GitHub, Slack, and private keys in PEM. */
const SECRET =
  /\b(?:ob_(?:live|test)_[0-9A-Za-z]{49}|AKIA[0-9A-Z]{16}|[rs]k_live_[0-9A-Za-z]{16,64}|gh[opsu]_[0-9A-Za-z]{36,64}|xox[abprs]-[0-9A-Za-z-]{10,72})\b|-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY-----/g;
/** Tells the kind and not the secret. */
const SHOWN_CHARACTERS = 8;

const found = (field: string, { text, offset }: Hit): Discovery =>
  discovery('secret', field, () => `what begins with ${text.slice(0, SHOWN_CHARACTERS)} looks like a secret`, offset);

/** Keys that were not meant to be mailed. */
export const secrets: Check = function* ({ html, text = '' }) {
  for (const hit of hitsInSpans(html?.source ?? '', html?.spans ?? [], SECRET)) yield found('html', hit);
  for (const hit of hitsIn(text, SECRET)) yield found('text', hit);
};

/** Compared are the beginnings, some three thousand words: more costs time and says the same. */
const COMPARED_CHARACTERS_MAX = 20_000;
/** Enough for any layout. Higher: a page of a hundred thousand images takes longer and says the same. */
const COMPARED_IMAGES_MAX = 100;
/** With fewer, a few words more or less are not another message: only hardly any shared word tells. */
const WORDS_MIN = 20;
/** Lower: two ways of saying the same are called different. Higher: short mail with another text passes. */
const SHORT_WORDS_MIN = 5;
/** Like `SHARED_MIN`, for short mail: one common word ("your", "the") in five is chance. */
const SHORT_SHARED_MIN = 0.25;
/** Of the words of the shorter, those the longer has too. A faithful text has nearly all. */
const SHARED_MIN = 0.4;
/** What share of the html's words the text needs to have: "see the web version" is not the same message. */
const WORDS_SHARE_MIN = 0.15;

/** Where words stand without spaces, each character is one. */
const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\u30fc]|[\p{L}\p{N}]{3,40}/gu;

const wordsOf = (text: string): ReadonlySet<string> =>
  new Set(text.slice(0, COMPARED_CHARACTERS_MAX).toLowerCase().match(WORD) ?? []);

/** Images are read by their `alt`: a plain text says what they say. */
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
  if (isBlank) yield discovery('body-empty', 'text', 'the text has no character that can be seen');
}

/** The plain text beside the html. */
export const textPart: Check = function* ({ html, text }) {
  yield* emptiness(html, text);
  if (html === null) return;
  if (text === undefined) {
    yield discovery('text-missing', 'text', 'there is no plain text: one will be derived from the html');
  } else if (isFar(text, html)) {
    yield discovery('text-differs', 'text', 'the plain text does not say what the html says');
  }
};
