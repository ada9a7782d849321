import { type Token, Tokenizer, Token as Tokens } from 'parse5';
import { TEXT_MODES } from './elements.ts';
import { ACCEPTED_BOGUS_COMMENT, BOGUS_COMMENTS, createTagProblems, type Report } from './problems.ts';
import type { StartTag, TokenHandler } from './tokens.ts';

/** Also receives what only this tokenizer notices. */
export interface StandardTokenHandler extends TokenHandler {
  readonly report: Report;
  /** An end tag of this name is not a problem: its start tag was reported. */
  forgive(name: string): void;
  /**
   * Called for an attribute that its tag already has; the first one counts. Absent: repeated attributes are not
   * collected.
   */
  readonly repeatedAttribute: ((name: string, offset: number) => void) | undefined;
  /** @param isInText the input ends in an element whose content is text. */
  endOfInput(offset: number, isInText: boolean): void;
}

/** The part that no other tokenizer has read. */
export interface Rest {
  readonly start: number;
  /** Something other than comments and space precedes it. */
  readonly hasContent: boolean;
}

/**
 * Tokenizes the rest of the html according to the standard (parse5), and reports tokenizer errors that mean broken
 * markup. Time and memory are linear in the size.
 */
export const readStandardTokens = (html: string, rest: Rest, handler: StandardTokenHandler): void => {
  const { report } = handler;
  const tags = createTagProblems(html, handler);
  const startOf = ({ location }: Token.Token): number => rest.start + (location?.startOffset ?? 0);
  const endOf = ({ location }: Token.Token): number => rest.start + (location?.endOffset ?? 0);
  let { hasContent } = rest;
  let isBogusComment = false;
  /** Inside a text element whose end tag is still to come. */
  let isInText = false;
  let isInTag = false;
  let isCutOff = false;
  /** The end of the token before the current one. */
  let tokenEnd = rest.start;

  const reportCutOff = (what: string, start: number): void => {
    isCutOff = true;
    report(html.length, (placeOf) => `the input ends inside ${what} that begins at ${placeOf(start)}`);
  };

  const reportNamelessEndTag = (offset: number): void => report(offset - 2, 'end tag without a name');

  /** Errors whose place or meaning differs from the standard's. */
  const parseErrors: Readonly<Record<string, (offset: number) => void>> = {
    'eof-before-tag-name': () => reportCutOff('a tag', html.lastIndexOf('<')),
    'eof-in-cdata': () => reportCutOff('a CDATA section', html.lastIndexOf('<![CDATA[')),
    'eof-in-tag': () => {
      isInTag = true;
    },
    'missing-end-tag-name': reportNamelessEndTag,
    // `a < b` is text and stays. The parser turns `</ b>` into a comment.
    'invalid-first-character-of-tag-name': (offset) => {
      if (html[offset - 1] === '/') reportNamelessEndTag(offset);
    },
  };

  const parseError = (code: string, offset: number): void => {
    isBogusComment ||= BOGUS_COMMENTS.has(code);
    const special = parseErrors[code];
    if (special === undefined) tags.parseError(code, offset);
    else special(offset);
  };

  const checkDoctype = (start: number, end: number): void => {
    const swallowed = html.slice(start + 1, end).indexOf('<');
    if (end > html.length) reportCutOff('the doctype', start);
    else if (hasContent) report(start, 'unexpected doctype');
    else if (swallowed >= 0) report(start + 1 + swallowed, 'unexpected "<" in the doctype');
  };

  const checkComment = ({ data }: Token.CommentToken, start: number): void => {
    if (tokenEnd > html.length) reportCutOff('a comment', start);
    else if (isBogusComment && !ACCEPTED_BOGUS_COMMENT.test(data)) report(start, 'malformed comment');
    isBogusComment = false;
  };

  const startTagOf = (token: Token.TagToken): StartTag => ({
    name: token.tagName,
    offset: startOf(token),
    isSelfClosing: token.selfClosing,
    hasAttributes: token.attrs.length > 0,
    get attributes() {
      const places = token.location?.attrs ?? {};
      return token.attrs.map(({ name, value }) => ({
        name,
        value,
        start: rest.start + (places[name]?.startOffset ?? 0),
        end: rest.start + (places[name]?.endOffset ?? 0),
      }));
    },
    attribute: (name) => Tokens.getTokenAttr(token, name) ?? undefined,
  });

  const onText = (token: Token.CharacterToken): void => {
    tokenEnd = endOf(token);
    handler.text?.(token.chars, startOf(token));
  };

  const tokenizer: Tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: true },
    {
      onParseError: ({ code, startOffset }) => parseError(code, rest.start + startOffset),
      onComment: (token) => {
        tokenEnd = endOf(token);
        handler.other(startOf(token));
        checkComment(token, startOf(token));
      },
      onDoctype: (token) => {
        tokenEnd = endOf(token);
        handler.other(startOf(token));
        checkDoctype(startOf(token), tokenEnd);
        hasContent = true;
      },
      onStartTag: (token) => {
        tokenEnd = endOf(token);
        hasContent = true;
        const mode = handler.isInForeign() ? undefined : TEXT_MODES.get(token.tagName);
        const name = tags.tagName(token.tagName, startOf(token) + 1);
        if (name === token.tagName) handler.startTag(startTagOf(token));
        else tags.forgiveBoth(name, startOf(token));
        tokenizer.inForeignNode = handler.isInForeign();
        isInText = mode !== undefined;
        if (mode !== undefined) tokenizer.state = mode;
      },
      onEndTag: (token) => {
        tokenEnd = endOf(token);
        hasContent = true;
        isInText = false;
        const name = tags.tagName(token.tagName, startOf(token) + 2);
        if (name === token.tagName && token.attrs.length > 0) report(startOf(token), 'end tag with attributes');
        handler.endTag(name, startOf(token));
        tokenizer.inForeignNode = handler.isInForeign();
      },
      onEof: () => {
        if (isInTag) reportCutOff('a tag', tokenEnd);
        handler.other(html.length);
        if (!isCutOff) handler.endOfInput(html.length, isInText);
      },
      onCharacter: (token) => {
        hasContent = true;
        onText(token);
      },
      onNullCharacter: onText,
      onWhitespaceCharacter: onText,
    },
  );
  tokenizer.inForeignNode = handler.isInForeign();
  tokenizer.write(html.slice(rest.start), true);
};
