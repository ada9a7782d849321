import { type Check, discovery } from '../discovery.ts';
import { mailboxFields } from '../facts.ts';
import { type Hit, hitsIn, hitsInSpans } from '../text/pattern-hits.ts';
import { quoted } from '../text/quoted.ts';

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

const said = (hit: Hit) => () => `${quoted(hit.text)} was not filled in`;

/** Variables that a template did not fill in. */
export const templateMarkers: Check = function* (facts) {
  const { subject, html, text = '' } = facts;
  for (const hit of hitsIn(subject, MARKER)) yield discovery('template-marker', 'subject', said(hit));
  for (const [field, { name = '' }] of mailboxFields(facts)) {
    for (const hit of hitsIn(name, MARKER)) yield discovery('template-marker', field, said(hit));
  }
  for (const hit of hitsInSpans(html?.source ?? '', html?.spans ?? [], MARKER)) {
    yield discovery('template-marker', 'html', said(hit), hit.offset);
  }
  for (const hit of hitsIn(text, MARKER)) yield discovery('template-marker', 'text', said(hit), hit.offset);
};
