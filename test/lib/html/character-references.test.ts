import fc from 'fast-check';
import { type DefaultTreeAdapterTypes, parseFragment } from 'parse5';
import { expect, test } from 'vitest';
import { readHtml } from '../../../src/lib/html/read-html.ts';

const PIECES = ['&', '&amp;', '&amp', 'amp;', '&lt;', '&nbsp;', '&#39;', '&#x27;', '&copy', '&copy;', '&unknown;', ';'];
const OTHERS = ['=1', ' ', 'a', '#', '&&amp;', '&apos;', '&quot;', '"', '<', '>', '&#0;', '&AMP;', 'ü', '&notin;'];
const source = fc.array(fc.constantFrom(...PIECES, ...OTHERS), { maxLength: 12 }).map((pieces) => pieces.join(''));

const onlyNodeOf = (html: string): DefaultTreeAdapterTypes.ChildNode | undefined => parseFragment(html).childNodes[0];

const standardText = (html: string): string => {
  const node = onlyNodeOf(html);
  return node !== undefined && 'value' in node ? node.value : '';
};

const standardAttribute = (html: string): string => {
  const node = onlyNodeOf(html);
  return node !== undefined && 'attrs' in node ? (node.attrs[0]?.value ?? '') : '';
};

const read = (html: string) => {
  const texts: string[] = [];
  let attribute: string | undefined;
  readHtml<void>(html, {
    root: undefined,
    start: (tag) => {
      attribute ??= tag.attribute('b');
    },
    end: () => undefined,
    strayEnd: () => undefined,
    text: ({ text }) => texts.push(text),
  });
  return { text: texts.join(''), attribute };
};

test('character references follow the standard, in text and in attributes', () => {
  fc.assert(
    fc.property(source, (given) => {
      const text = given.replaceAll('<', '&lt;');
      const element = `<a b="${given.replaceAll('"', '&quot;')}"></a>`;
      expect(read(text).text).toBe(standardText(text));
      expect(read(element).attribute).toBe(standardAttribute(element));
    }),
    { numRuns: 2000 },
  );
});
