import { type ParserError, type Token, Tokenizer, TokenizerMode } from 'parse5';
import { HTML_PROBLEMS_MAX, type HtmlProblem } from '../../domain/html-checker.ts';
import { createNesting } from './nesting.ts';
import type { Place } from './open-elements.ts';
import { ACCEPTED_BOGUS_COMMENT, BOGUS_COMMENTS, PARSE_PROBLEMS } from './parse-problems.ts';

type TextMode = (typeof TokenizerMode)[keyof typeof TokenizerMode];

/** §13.2.6.2: elements whose content is not markup. */
const TEXT_MODES: ReadonlyMap<string, TextMode> = new Map<string, TextMode>([
  ['title', TokenizerMode.RCDATA],
  ['textarea', TokenizerMode.RCDATA],
  ['style', TokenizerMode.RAWTEXT],
  ['xmp', TokenizerMode.RAWTEXT],
  ['iframe', TokenizerMode.RAWTEXT],
  ['noembed', TokenizerMode.RAWTEXT],
  ['noframes', TokenizerMode.RAWTEXT],
  ['script', TokenizerMode.SCRIPT_DATA],
  ['plaintext', TokenizerMode.PLAINTEXT],
]);

const placeOf = ({ location }: { readonly location: Token.Location | null }): Place => ({
  line: location?.startLine ?? 1,
  column: location?.startCol ?? 1,
});

const tagOf = (token: Token.TagToken) => ({
  name: token.tagName,
  selfClosing: token.selfClosing,
  line: token.location?.startLine ?? 1,
  column: token.location?.startCol ?? 1,
});

/**
 * Problems of the html in the order they stand in it, at most `HTML_PROBLEMS_MAX`. The tokens are the standard's
 * (parse5); its tree builder repairs silently what is asked for here, so the open elements are followed beside it.
 * Time and memory are linear in the size.
 */
export const checkHtml = (html: string): readonly HtmlProblem[] => {
  const problems: HtmlProblem[] = [];
  const report = ({ line, column }: Place, message: string): void => {
    if (problems.length < HTML_PROBLEMS_MAX) problems.push({ line, column, message });
  };
  const nesting = createNesting(report);
  let bogusComment = false;
  let hasContent = false;

  /** `a < b` is text and stays; of `</ b>` the parser makes a comment. */
  const parseProblem = ({ code, startOffset }: ParserError): string | undefined => {
    if (code !== 'invalid-first-character-of-tag-name') return PARSE_PROBLEMS.get(code);
    return html[startOffset - 1] === '/' ? 'end tag without a name' : undefined;
  };

  const tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: true },
    {
      onParseError: (error) => {
        bogusComment ||= BOGUS_COMMENTS.has(error.code);
        const message = parseProblem(error);
        if (message !== undefined) report({ line: error.startLine, column: error.startCol }, message);
      },
      onComment: (token) => {
        if (bogusComment && !ACCEPTED_BOGUS_COMMENT.test(token.data)) report(placeOf(token), 'malformed comment');
        bogusComment = false;
      },
      onDoctype: (token) => {
        if (hasContent) report(placeOf(token), 'unexpected doctype');
        hasContent = true;
      },
      onStartTag: (token) => {
        hasContent = true;
        nesting.startTag(tagOf(token));
        tokenizer.inForeignNode = nesting.isInForeign();
        const mode = tokenizer.inForeignNode ? undefined : TEXT_MODES.get(token.tagName);
        if (mode !== undefined) tokenizer.state = mode;
      },
      onEndTag: (token) => {
        hasContent = true;
        nesting.endTag(tagOf(token));
        tokenizer.inForeignNode = nesting.isInForeign();
      },
      onEof: () => nesting.endOfInput(),
      onCharacter: () => {
        hasContent = true;
      },
      onNullCharacter: () => undefined,
      onWhitespaceCharacter: () => undefined,
    },
  );
  tokenizer.write(html, true);
  return problems.sort((one, other) => one.line - other.line || one.column - other.column);
};
