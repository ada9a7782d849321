import { type Token, Token as Tokens } from 'parse5';
import type { StyledElement } from './visibility.ts';

export interface StartTag extends StyledElement {
  readonly token: Token.TagToken;
}

export const startTagOf = (token: Token.TagToken): StartTag => ({
  token,
  name: token.tagName,
  offset: token.location?.startOffset ?? 0,
  attribute: (name) => Tokens.getTokenAttr(token, name) ?? undefined,
});
