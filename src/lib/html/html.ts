/**
 * HTML of mail: whether it is valid, its contents, and its plain text.
 *
 * One tokenizer and one pass serve every question. `readHtml` follows start tags, end tags and text as their author
 * meant them: end tags may be omitted where the HTML Standard allows it, and every repair that its parser would make is
 * a problem with line and column instead.
 *
 * - `createHtmlChecker` reports problems. Small bodies are read inline within a budget per turn of the event loop,
 *   large ones in a thread; owners take turns. Valid html is cached by digest, and by its shape if a template made it.
 * - `htmlFacts` lists links, images, hidden text, active content and spans of text, for the rules of an analysis.
 * - `createTextAlternatives` derives the plain text of a message once for all its copies.
 * - `hosts.ts` and `text.ts` read what text says: hosts, look-alikes, URLs, places by line and column.
 *
 * Everything takes time linear in the length of its input. A body that takes too long is reported as a problem, and a
 * thread that is busy for too long throws `HtmlCheckUnavailable`: trying again helps.
 */

export type { HiddenTextFact, HtmlFacts, ImageFact, LinkFact } from './facts.ts';
export {
  isIpAddress,
  isPrivateHost,
  lookalikeOf,
  mixesScripts,
  type NamedHost,
  namedHosts,
  siteOf,
  type Target,
  URL_SHORTENERS,
} from './hosts.ts';
export { createHtmlChecker } from './html-checker.ts';
export { htmlFacts } from './html-facts.ts';
export { htmlToText } from './html-to-text.ts';
export { readHtml } from './read-html.ts';
export {
  createOffsets,
  createPlaces,
  type Hit,
  hitsIn,
  hitsInSpans,
  type Places,
  quoted,
  seenCharacters,
  textLinks,
} from './text.ts';
export { createTextAlternatives, type TextAlternatives } from './text-alternatives.ts';
export type { StartTag } from './tokens.ts';
export { escapeHtml, HTML_DEPTH_MAX, type HtmlChecker, HtmlCheckUnavailable, type HtmlProblem } from './tokens.ts';
