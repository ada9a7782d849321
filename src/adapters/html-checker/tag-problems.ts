import { GARBAGE_PROBLEMS, PARSE_PROBLEMS } from './parse-problems.ts';
import { type Report, shown } from './problem-list.ts';

/** What an attribute's name cannot contain, or only as garbage that is told anyway. */
const BEFORE_NAME = /[\t\n\f\r /"'=]/;
const SPACE = /[\t\n\f\r ]/;
/** The name of a tag that begins inside of another one. */
const SWALLOWED_NAME = /[a-z][^\t\n\f\r />]*/iy;

/** Problems within tags, placed where the author sees them, which is not always where the standard notices them. */
export const createTagProblems = (html: string, report: Report, forgive: (name: string) => void) => {
  /** Told already in the present tag. */
  const told = new Set<string>();
  /** The last one; nothing is before the text. */
  let harmlessEquals = -2;

  const forgiveSwallowed = (start: number): void => {
    SWALLOWED_NAME.lastIndex = start;
    const name = SWALLOWED_NAME.exec(html)?.[0];
    if (name !== undefined) forgive(name.toLowerCase());
  };

  /** Of what stands around the offset without a space, not beyond what is known to be harmless. */
  const startOf = (offset: number): number => {
    let start = offset;
    while (start - 1 > harmlessEquals && !SPACE.test(html.charAt(start - 1))) start -= 1;
    return start;
  };

  /** `href=page?a=b` loses nothing; in `width= height=5` and `a==b` a value is not what it was meant to be. */
  const isHarmlessEquals = (offset: number): boolean => {
    if (html[offset] !== '=') return false;
    const start = startOf(offset);
    const isHarmless = start - 1 === harmlessEquals || html.indexOf('=', start) < offset - 1;
    if (isHarmless) harmlessEquals = offset;
    return isHarmless;
  };

  const garbage = (code: string, message: string, offset: number): void => {
    if (told.has(code) || isHarmlessEquals(offset)) return;
    told.add(code);
    report(offset, message);
    if (html[offset] === '<') forgiveSwallowed(offset + 1);
  };

  /** The standard notices it behind the name. */
  const duplicate = (end: number): void => {
    let start = end;
    while (start > 0 && !BEFORE_NAME.test(html.charAt(start - 1))) start -= 1;
    report(start, `duplicate attribute ${shown(html.slice(start, end).toLowerCase())}`);
  };

  return {
    parseError: (code: string, offset: number): void => {
      const message = PARSE_PROBLEMS.get(code);
      const garbageMessage = GARBAGE_PROBLEMS.get(code);
      if (message !== undefined) report(offset, message);
      else if (garbageMessage !== undefined) garbage(code, garbageMessage, offset);
      else if (code === 'duplicate-attribute') duplicate(offset);
    },
    /** `<div<p>`: the name to go on with, when the tag is complete. */
    tagName: (name: string, offset: number): string => {
      told.clear();
      const end = name.indexOf('<');
      if (end < 0) return name;
      report(offset + end, 'unexpected "<" in the name of a tag');
      return name.slice(0, end);
    },
    /** Neither `<div` nor `<p` of `<div<p>` is followed: one of them was not meant. */
    forgiveBoth: (name: string, offset: number): void => {
      forgive(name);
      forgiveSwallowed(offset + name.length + 2);
    },
  };
};
