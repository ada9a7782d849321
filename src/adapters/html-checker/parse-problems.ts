/**
 * Errors of the standard's tokenizer (§13.2.2) that mean broken markup: the input ends too early, or something is
 * dropped or read otherwise than it was written. The rest (missing semicolons, odd doctypes, missing spaces between
 * attributes …) loses nothing and is all over mail.
 */
export const PARSE_PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['eof-before-tag-name', 'the input ends inside a tag'],
  ['eof-in-tag', 'the input ends inside a tag'],
  ['eof-in-comment', 'the input ends inside a comment'],
  ['eof-in-doctype', 'the input ends inside the doctype'],
  ['eof-in-cdata', 'the input ends inside a CDATA section'],
  ['duplicate-attribute', 'duplicate attribute'],
  ['missing-end-tag-name', 'end tag without a name'],
  ['end-tag-with-attributes', 'end tag with attributes'],
  ['missing-attribute-value', 'attribute without the value its "=" announces'],
  ['unexpected-equals-sign-before-attribute-name', 'unexpected "=" in a tag'],
  ['unexpected-character-in-attribute-name', 'unexpected quote or "<" in an attribute name'],
  ['unexpected-character-in-unquoted-attribute-value', 'unexpected quote, "<", "=" or "`" in an unquoted value'],
  ['unexpected-null-character', 'NUL character'],
  ['surrogate-in-input-stream', 'half of a surrogate pair'],
]);

/** Errors that turn what follows into a comment: `<!…>`, `<?…>`, `</…>`. Judged when the comment is complete. */
export const BOGUS_COMMENTS: ReadonlySet<string> = new Set([
  'incorrectly-opened-comment',
  'cdata-in-html-content',
  'unexpected-question-mark-instead-of-tag-name',
]);

/** Conditional comments that other programs see (`<![if !mso]>`, `<![endif]>`), and XML's `<?xml …?>`. */
export const ACCEPTED_BOGUS_COMMENT = /^(?:\[\s*(?:if\b|endif\b)|\?xml\b)/i;
