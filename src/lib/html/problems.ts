import { createPlaces } from './text.ts';
import { HTML_PROBLEMS_MAX, type HtmlProblem } from './tokens.ts';

/**
 * Names come from the sender. The longest in HTML has half the length; without a limit, a message could repeat a
 * megabyte.
 */
const NAME_CHARACTERS_MAX = 40;

/** A message that names a second place is written only once the problem is known to be listed. */
type Message = string | ((placeOf: (offset: number) => string) => string);

export type Report = (offset: number, message: Message) => void;

/** An element's or attribute's name as messages show it. */
export const shownName = (name: string): string =>
  name.length <= NAME_CHARACTERS_MAX ? name : `${name.slice(0, NAME_CHARACTERS_MAX)}…`;

/** Keeps the first problems of the text, in whatever order they are reported. Lines are counted only for these. */
export const createProblemList = (html: string) => {
  const kept: { readonly offset: number; readonly message: Message }[] = [];

  const report: Report = (offset, message) => {
    let index = kept.length;
    while (index > 0 && offset < (kept[index - 1]?.offset ?? 0)) index -= 1;
    if (index === HTML_PROBLEMS_MAX) return;
    kept.splice(index, 0, { offset, message });
    kept.length = Math.min(kept.length, HTML_PROBLEMS_MAX);
  };

  const problems = (): readonly HtmlProblem[] => {
    if (kept.length === 0) return [];
    const placeAt = createPlaces(html);
    const placeOf = (offset: number): string => {
      const { line, column } = placeAt(offset);
      return `line ${line}, column ${column}`;
    };
    return kept.map(({ offset, message }) => ({
      ...placeAt(offset),
      message: typeof message === 'string' ? message : message(placeOf),
    }));
  };

  return { report, problems };
};

/**
 * Errors of the standard's tokenizer (§13.2.2) that mean broken markup: the input ends too early, or something is
 * dropped or read differently from how it was written. The rest (missing semicolons, references to characters that do
 * not exist, odd doctypes, missing spaces between attributes …) loses no markup and is common in mail.
 */
const PARSE_PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['missing-attribute-value', 'attribute without the value its "=" announces'],
  ['unexpected-equals-sign-before-attribute-name', 'unexpected "=" in a tag'],
  ['unexpected-null-character', 'NUL character'],
  ['surrogate-in-input-stream', 'half of a surrogate pair'],
]);

/** A missing quote causes one of these for every quote that follows: reported once for each tag. */
const GARBAGE_PROBLEMS: ReadonlyMap<string, string> = new Map([
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

/** Characters that an attribute's name cannot contain, or only as garbage that is reported anyway. */
const BEFORE_NAME = /[\t\n\f\r /"'=]/;
const SPACE = /[\t\n\f\r ]/;
/** The name of a tag that begins inside another one. */
const SWALLOWED_NAME = /[a-z][^\t\n\f\r />]*/iy;

interface TagProblemHandler {
  readonly report: Report;
  /** See `StandardTokenHandler`. */
  readonly forgive: (name: string) => void;
  readonly repeatedAttribute: ((name: string, offset: number) => void) | undefined;
}

/** Problems within tags, placed where the author sees them, which is not always where the standard notices them. */
export const createTagProblems = (html: string, { report, forgive, repeatedAttribute }: TagProblemHandler) => {
  /** Codes reported already for the current tag. */
  const reported = new Set<string>();
  /** Offset of the last one. */
  let harmlessEquals = -2;

  const forgiveSwallowed = (start: number): void => {
    SWALLOWED_NAME.lastIndex = start;
    const name = SWALLOWED_NAME.exec(html)?.[0];
    if (name !== undefined) forgive(name.toLowerCase());
  };

  /** The start of the word around the offset, or the position after a part known to be harmless. */
  const startOf = (offset: number): number => {
    let start = offset;
    while (start - 1 > harmlessEquals && !SPACE.test(html.charAt(start - 1))) start -= 1;
    return start;
  };

  /** `href=page?a=b` loses nothing; in `width= height=5` and `a==b` the value is not the intended one. */
  const isHarmlessEquals = (offset: number): boolean => {
    if (html[offset] !== '=') return false;
    const start = startOf(offset);
    const isHarmless = start - 1 === harmlessEquals || html.indexOf('=', start) < offset - 1;
    if (isHarmless) harmlessEquals = offset;
    return isHarmless;
  };

  const garbage = (code: string, message: string, offset: number): void => {
    if (reported.has(code) || isHarmlessEquals(offset)) return;
    reported.add(code);
    report(offset, message);
    if (html[offset] === '<') forgiveSwallowed(offset + 1);
  };

  /** Reported at the start of the name, since the standard's tokenizer notices it only after the name. */
  const repeated = (end: number): void => {
    if (repeatedAttribute === undefined) return;
    let start = end;
    while (start > 0 && !BEFORE_NAME.test(html.charAt(start - 1))) start -= 1;
    repeatedAttribute(shownName(html.slice(start, end).toLowerCase()), start);
  };

  return {
    parseError: (code: string, offset: number): void => {
      const message = PARSE_PROBLEMS.get(code);
      const garbageMessage = GARBAGE_PROBLEMS.get(code);
      if (message !== undefined) report(offset, message);
      else if (garbageMessage !== undefined) garbage(code, garbageMessage, offset);
      else if (code === 'duplicate-attribute') repeated(offset);
    },
    /** For `<div<p>`, the name to continue with when the tag is complete. */
    tagName: (name: string, offset: number): string => {
      reported.clear();
      const end = name.indexOf('<');
      if (end < 0) return name;
      report(offset + end, 'unexpected "<" in the name of a tag');
      return name.slice(0, end);
    },
    /** Forgives both `<div` and `<p` of `<div<p>`: one of them was a mistake. */
    forgiveBoth: (name: string, offset: number): void => {
      forgive(name);
      forgiveSwallowed(offset + name.length + 2);
    },
  };
};
