/**
 * Errors of the standard's tokenizer (§13.2.2) that mean broken markup: the input ends too early, or something is
 * dropped or read otherwise than it was written. The rest (missing semicolons, references to characters that do not
 * exist, odd doctypes, missing spaces between attributes …) loses no markup and is all over mail.
 */
export const PARSE_PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['missing-attribute-value', 'attribute without the value its "=" announces'],
  ['unexpected-equals-sign-before-attribute-name', 'unexpected "=" in a tag'],
  ['unexpected-null-character', 'NUL character'],
  ['surrogate-in-input-stream', 'half of a surrogate pair'],
]);

/** A missing quote makes one of each of these of every quote that follows: told once for a tag. */
export const GARBAGE_PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['unexpected-character-in-attribute-name', 'unexpected quote or "<" in an attribute name'],
  ['unexpected-character-in-unquoted-attribute-value', 'unexpected quote, "<", "=" or "`" in an unquoted value'],
]);

/** Errors that turn what follows into a comment: `<!…>`, `<?…>`. Judged when the comment is complete. */
export const BOGUS_COMMENTS: ReadonlySet<string> = new Set([
  'incorrectly-opened-comment',
  'cdata-in-html-content',
  'unexpected-question-mark-instead-of-tag-name',
]);

/** Conditional comments that other programs see (`<![if !mso]>`, `<![endif]>`), and XML's `<?xml …?>`. */
export const ACCEPTED_BOGUS_COMMENT = /^(?:\[\s*(?:if\b|endif\b)|\?xml\b)/i;

/** Before everything else it is not part of the text, as for the standard's decoder. */
export const BYTE_ORDER_MARK = '\uFEFF';
