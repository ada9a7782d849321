import { compile } from 'html-to-text';

/** Deeper nesting is cut: no reader shows it, and every level costs stack. */
const DEPTH_MAX = 100;
/** Children of one element that are looked at; a longer list is cut with an ellipsis. */
const CHILD_NODES_MAX = 20_000;
/** RFC 5322 §2.1.1. */
const LINE_CHARACTERS = 78;

const convert = compile({
  wordwrap: LINE_CHARACTERS,
  limits: { maxDepth: DEPTH_MAX, maxChildNodes: CHILD_NODES_MAX },
  formatters: {
    alternative: (element, _walk, builder) => builder.addInline(element.attribs.alt ?? ''),
  },
  selectors: [
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true, ignoreHref: false, noAnchorUrl: true } },
    { selector: 'img', format: 'alternative' },
    { selector: 'head', format: 'skip' },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
    { selector: 'table', options: { uppercaseHeaderCells: false } },
  ],
});

/** The text alternative of a body that came as html alone: links in brackets, no images, wrapped. */
export const htmlToText = (html: string): string => convert(html).trim();
