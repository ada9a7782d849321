import { type Token, Tokenizer } from 'parse5';
import type { HtmlProblem } from '../../domain/ports/html-checker.ts';
import { createNesting } from './nesting.ts';
import { ACCEPTED_BOGUS_COMMENT, BOGUS_COMMENTS, BYTE_ORDER_MARK } from './parse-problems.ts';
import { createProblemList } from './problem-list.ts';
import { createTagProblems } from './tag-problems.ts';
import { TEXT_MODES } from './text-modes.ts';

const startOf = ({ location }: Token.Token): number => location?.startOffset ?? 0;
const endOf = ({ location }: Token.Token): number => location?.endOffset ?? 0;

/**
 * Problems of the html in the order they stand in it. The tokens are the standard's (parse5); its tree builder repairs
 * silently what is asked for here, so the open elements are followed beside it. Time and memory are linear in the size.
 */
export const standardProblems = (html: string): readonly HtmlProblem[] => {
  const { report, problems } = createProblemList(html);
  const nesting = createNesting(report);
  const tags = createTagProblems(html, report, nesting.forgive);
  let isBogusComment = false;
  let hasContent = false;
  /** In the text of an element whose end tag is still to come. */
  let isInText = false;
  let isInTag = false;
  let isCutOff = false;
  /** Where the token before the present one ends. */
  let tokenEnd = 0;

  const reportCutOff = (what: string, start: number): void => {
    isCutOff = true;
    report(html.length, (placeOf) => `the input ends inside ${what} that begins at ${placeOf(start)}`);
  };

  const namelessEndTag = (offset: number): void => report(offset - 2, 'end tag without a name');

  /** Where the standard's word is not the place or the whole of the problem. */
  const parseErrors: Readonly<Record<string, (offset: number) => void>> = {
    'eof-before-tag-name': () => reportCutOff('a tag', html.lastIndexOf('<')),
    'eof-in-cdata': () => reportCutOff('a CDATA section', html.lastIndexOf('<![CDATA[')),
    'eof-in-tag': () => {
      isInTag = true;
    },
    'missing-end-tag-name': namelessEndTag,
    // `a < b` is text and stays; of `</ b>` the parser makes a comment.
    'invalid-first-character-of-tag-name': (offset) => {
      if (html[offset - 1] === '/') namelessEndTag(offset);
    },
  };

  const doctype = (start: number, end: number): void => {
    const swallowed = html.slice(start + 1, end).indexOf('<');
    if (end > html.length) reportCutOff('the doctype', start);
    else if (hasContent) report(start, 'unexpected doctype');
    else if (swallowed >= 0) report(start + 1 + swallowed, 'unexpected "<" in the doctype');
  };

  const onText = (token: Token.CharacterToken): void => {
    hasContent ||= startOf(token) > 0 || token.chars !== BYTE_ORDER_MARK;
    tokenEnd = endOf(token);
  };
  const onIgnoredText = (token: Token.CharacterToken): void => {
    tokenEnd = endOf(token);
  };

  const tokenizer: Tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: true },
    {
      onParseError: ({ code, startOffset }) => {
        isBogusComment ||= BOGUS_COMMENTS.has(code);
        const special = parseErrors[code];
        if (special === undefined) tags.parseError(code, startOffset);
        else special(startOffset);
      },
      onComment: (token) => {
        tokenEnd = endOf(token);
        if (tokenEnd > html.length) reportCutOff('a comment', startOf(token));
        else if (isBogusComment && !ACCEPTED_BOGUS_COMMENT.test(token.data))
          report(startOf(token), 'malformed comment');
        isBogusComment = false;
      },
      onDoctype: (token) => {
        tokenEnd = endOf(token);
        doctype(startOf(token), tokenEnd);
        hasContent = true;
      },
      onStartTag: (token) => {
        tokenEnd = endOf(token);
        hasContent = true;
        const mode = nesting.isInForeign() ? undefined : TEXT_MODES.get(token.tagName);
        const start = startOf(token);
        const name = tags.tagName(token.tagName, start + 1);
        if (name === token.tagName) nesting.startTag(name, start, token.selfClosing);
        else tags.forgiveBoth(name, start);
        tokenizer.inForeignNode = nesting.isInForeign();
        isInText = mode !== undefined;
        if (mode !== undefined) tokenizer.state = mode;
      },
      onEndTag: (token) => {
        tokenEnd = endOf(token);
        hasContent = true;
        isInText = false;
        const start = startOf(token);
        const name = tags.tagName(token.tagName, start + 2);
        if (name === token.tagName && token.attrs.length > 0) report(start, 'end tag with attributes');
        nesting.endTag(name, start);
        tokenizer.inForeignNode = nesting.isInForeign();
      },
      onEof: () => {
        if (isInTag) reportCutOff('a tag', tokenEnd);
        if (!isCutOff) nesting.endOfInput(isInText);
      },
      onCharacter: onText,
      onNullCharacter: onIgnoredText,
      onWhitespaceCharacter: onIgnoredText,
    },
  );
  tokenizer.write(html, true);
  return problems();
};
