import type { LinkFact } from '../facts.ts';
import { targetOf } from '../hosts/web-address.ts';

const URL_IN_TEXT = /\bhttps?:\/\/[^\s<>"'`{}|\\^]+/gi;
/** They end a sentence or a bracket around the URL. */
const AFTER = new Set('.,;:!?)]*_');
const CHARACTERS_MAX = 2000;

const withoutEnd = (url: string): string => {
  let end = url.length;
  while (AFTER.has(url[end - 1] ?? '')) end -= 1;
  return url.slice(0, end);
};

/** The URLs in a plain text, which mail programs make links of. */
export const textLinks = (text: string): readonly LinkFact[] =>
  Array.from(text.matchAll(URL_IN_TEXT), ({ 0: url, index }) => {
    const href = withoutEnd(url.slice(0, CHARACTERS_MAX));
    return { offset: index, href, target: targetOf(href), text: href };
  });
