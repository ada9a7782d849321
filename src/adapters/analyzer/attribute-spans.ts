import type { Token } from 'parse5';
import type { Span } from '../../domain/analysis/facts.ts';

/** CSS has braces of its own. */
const isRead = ({ name, value }: Token.Attribute): boolean => value !== '' && name !== 'style';

/** Where the attributes that hold text stand in the source. */
export const attributeSpans = ({ attrs, location }: Token.TagToken): readonly Span[] =>
  attrs.filter(isRead).flatMap(({ name }) => {
    const place = location?.attrs?.[name];
    return place === undefined ? [] : { start: place.startOffset, end: place.endOffset, kind: 'attribute' };
  });
