import { type Check, discovery } from '../discovery.ts';
import { mailboxFields } from '../facts.ts';
import { type Hit, hitsIn, hitsInSpans } from '../text/pattern-hits.ts';
import { quoted } from '../text/quoted.ts';

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

const said =
  ({ text }: Hit) =>
  () =>
    text.startsWith('&') ? `${quoted(text)} is escaped once too often` : `${quoted(text)} is text in a wrong encoding`;

/** Text that was read or written in the wrong encoding somewhere. */
export const encodingDamage: Check = function* (facts) {
  const { subject, html, text = '' } = facts;
  for (const hit of hitsIn(subject, IN_TEXT)) yield discovery('encoding-damage', 'subject', said(hit));
  for (const [field, { name = '' }] of mailboxFields(facts)) {
    for (const hit of hitsIn(name, IN_TEXT)) yield discovery('encoding-damage', field, said(hit));
  }
  // Attributes are left out: in a link, &amp;amp; may be meant.
  const spans = html?.spans.filter(({ kind }) => kind === 'text') ?? [];
  for (const hit of hitsInSpans(html?.source ?? '', spans, IN_HTML)) {
    yield discovery('encoding-damage', 'html', said(hit), hit.offset);
  }
  for (const hit of hitsIn(text, IN_TEXT)) yield discovery('encoding-damage', 'text', said(hit), hit.offset);
};
