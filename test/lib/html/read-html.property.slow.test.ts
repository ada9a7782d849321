import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkHtml } from '../../../src/lib/html/read-html.ts';
import { noPlainTokens, readsAllPlainly } from './tokenizers.ts';

/** Components of markup, and inputs that break parsers. */
const PIECES =
  '< > / ! - -- --> --!> <!-- <!--> <!---> <!--!> <!doctype <!DOCTYPE> <? <?xml ?> = " \' ` a x A 0 : é 😀 & &amp; &lt ' +
  '\u0000 \ud83d \uFEFF \u00A0 <div> </div> <DIV <p> </p> <a href=x> </a> <b> </b> <td> </td> <table> </table> <tr> ' +
  '<svg> </svg> <math> <mi> <path/> <title> </title> </TITLE <style> </style> <script> </script> <!--<script ' +
  '<textarea> </textarea> <plaintext> </plaintext> <xmp> </xmp> <br/> </br> <o:p/> <![if <![endif]> <![CDATA[ ]]> <h1> ' +
  '</h1> <h2> <html> </html> <head> </head> <body> </body> <li> <ul> </ul> <form> </form> <button> </button> id=q ID=2 ' +
  'class="a>b" title=\'c';
const piece = fc.constantFrom(' ', '\n', '\r\n', '\r', '\t', '\f', ...PIECES.split(' '));
const soup = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(''));

/** Well-formed HTML as a list of tags and texts. */
const { tree } = fc.letrec<{ tree: readonly string[] }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.constantFrom(
      ['text'],
      ['<br>'],
      ['<img src="a.png" alt="a > b">'],
      ['<!-- </i> -->'],
      ['a &amp; b\r\n'],
      ['😀'],
    ),
    fc
      .tuple(
        fc.constantFrom('div', 'span', 'center', 'b', 'i', 'font', 'em', 'blockquote'),
        fc.array(tie('tree'), { maxLength: 4 }),
      )
      .map(([name, children]) => [`<${name} class="x">`, ...children.flat(), `</${name}>`]),
  ),
}));

const isOrdered = (html: string): boolean => {
  const problems = checkHtml(html);
  const places = problems.map(({ line, column }) => line * 1e6 + column);
  return problems.length <= 20 && places.every((place, index) => place >= (places[index - 1] ?? 0));
};

describe('for any input', () => {
  it('there is an answer, in the order of the text and with at most twenty problems', () => {
    const text = fc.oneof(soup, fc.string({ unit: 'binary' }));
    fc.assert(
      fc.property(text, (html) => {
        expect(isOrdered(html)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('the tokenizer of plain markup finds what the standard’s finds', () => {
    fc.assert(
      fc.property(soup, (html) => {
        expect(checkHtml(html)).toEqual(checkHtml(html, noPlainTokens));
      }),
      { numRuns: 10_000 },
    );
  });

  it('a place is within the text or its end', () => {
    const isInside = (html: string): boolean => {
      const lines = html.split(/\r\n|\r|\n/);
      return checkHtml(html).every(({ line, column }) => column >= 1 && column <= (lines[line - 1] ?? '').length + 1);
    };
    fc.assert(
      fc.property(soup, (html) => {
        expect(isInside(html)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('well-formed html', () => {
  it('is valid', () => {
    fc.assert(
      fc.property(tree, (parts) => {
        expect(checkHtml(parts.join(''))).toEqual([]);
        expect(readsAllPlainly(parts.join(''))).toBe(true);
      }),
    );
  });

  it('is refused without any one of its end tags', () => {
    const isRefused = (parts: readonly string[], index: number): boolean => {
      const ends = parts.flatMap((part, at) => (part.startsWith('</') ? [at] : []));
      const left = parts.toSpliced(ends[index % ends.length] ?? 0, 1);
      return ends.length === 0 || checkHtml(left.join('')).length > 0;
    };
    fc.assert(
      fc.property(tree, fc.nat(), (parts, index) => {
        expect(isRefused(parts, index)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('is refused with one more end tag, at its place, with no other problem', () => {
    fc.assert(
      fc.property(tree, fc.nat(), (parts, index) => {
        const at = index % (parts.length + 1);
        const lines = parts.slice(0, at).join('').split('\r\n');
        const column = (lines.at(-1) ?? '').length + 1;
        expect(checkHtml(parts.toSpliced(at, 0, '</section>').join(''))).toEqual([
          { line: lines.length, column, message: 'unexpected end tag </section>' },
        ]);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a megabyte of anything is checked in time in proportion to its size', () => {
  const times = (text: string, characters = 1_000_000): string => text.repeat(Math.floor(characters / text.length));

  it.each([
    ['start tags', times('<div>', 2_500_000)],
    ['start tags, then other end tags', times('<b>', 500_000) + times('</x>', 500_000)],
    ['start tags, then their end tags', times('<b>', 400_000) + times('</b>', 530_000)],
    ['a deep cell with stray paragraph ends', `<p><table><td>${times('<b>', 500_000)}${times('</p>', 500_000)}`],
    ['links in deep links', `<a>${times('<b>', 500_000)}${times('<a></a>', 500_000)}`],
    ['tables in deep tables', `<table>${times('<b>', 500_000)}${times('<table>', 500_000)}`],
    ['headings in headings', times('<h1>')],
    ['attributes', `<a ${Array.from({ length: 300_000 }, (_, index) => `a${index}`).join(' ')}>`],
    ['tags of many attributes', times('<i a b c d e f g h i j k l m n o p q r s t u v w x y z>')],
    ['the same attribute', `<a ${times('a ')}>`],
    ['equals signs in a value', `<a b=c${times('=d')}>`],
    ['equals signs in values', times('<b a=b=c=d>')],
    ['one long name twice', `<a ${times('x', 500_000)} ${times('x', 500_000)}>`],
    ['less-than signs', times('<')],
    ['less-than signs in a value', `<a b=${times('<')}`],
    ['mis-nesting', times('<a><b></a></b>')],
    ['mis-nesting from deep within', times('<div><table><td></div>')],
    ['comments that open', times('<!--')],
    ['comments that open and close', times('<!--><!--x-->')],
    ['declarations', times('<!>')],
    ['spaces before comments', times(' ', 500_000) + times('<!---->', 500_000)],
    ['ampersands', times('&')],
    ['references', times('&CounterClockwiseContourIntegra')],
    ['an unclosed quote', `<a href="${times('<p class=x>')}`],
    ['quotes', `<a ${times('"')}>`],
    ['unclosed quotes', times('<a b="c>')],
    ['half end tags in a title', `<title>${times('</titl')}`],
    ['titles', times('<title></title>')],
    ['scripts in scripts', `<script>${times('<!--<script')}`],
    ['scripts that hide nothing', times('<script><!--</script>')],
    ['lists in lists', times('<ul><li>')],
    ['foreign elements', times('<svg>')],
    ['foreign elements with html', times('<svg><p>')],
    ['line breaks and problems', times('\r\n</b>')],
    ['surrogates', times('\ud83d')],
    ['NUL', times('\0')],
  ])('%s', (_, html) => {
    const before = process.threadCpuUsage();
    expect(isOrdered(html)).toBe(true);
    const { user, system } = process.threadCpuUsage(before);
    // Each takes less than a second on an idle machine. A busy one gets three times as long.
    expect((user + system) / 1000).toBeLessThan(3000);
  });
});
