import fc from 'fast-check';
import { type DefaultTreeAdapterTypes, parseFragment } from 'parse5';
import { expect, test } from 'vitest';
import { createHtmlEntities } from '../../../src/adapters/mail/text/html-to-text.ts';

const PIECES = ['&', '&amp;', '&amp', 'amp;', '&lt;', '&nbsp;', '&#39;', '&#x27;', '&copy', '&copy;', '&unknown;', ';'];
const OTHERS = ['=1', ' ', 'a', '#', '&&amp;', '&apos;', '&quot;', '"', '<', '>', '&#0;', '&AMP;', 'ü', '&notin;'];
const source = fc.array(fc.constantFrom(...PIECES, ...OTHERS), { maxLength: 12 }).map((pieces) => pieces.join(''));

const onlyNodeOf = (html: string): DefaultTreeAdapterTypes.ChildNode | undefined => parseFragment(html).childNodes[0];

const textOf = (html: string): string => {
  const node = onlyNodeOf(html.replaceAll('<', '&lt;'));
  return node !== undefined && 'value' in node ? node.value : '';
};

const attributeOf = (value: string): string => {
  const node = onlyNodeOf(`<a b="${value.replaceAll('"', '&quot;')}"></a>`);
  return node !== undefined && 'attrs' in node ? (node.attrs[0]?.value ?? '') : '';
};

test('character references mean what the standard says, in text and in attributes', () => {
  const entities = createHtmlEntities();
  fc.assert(
    fc.property(source, (text) => {
      expect(entities.inText(text)).toBe(textOf(text));
      expect(entities.inAttribute(text)).toBe(attributeOf(text));
    }),
    { numRuns: 2000 },
  );
});
