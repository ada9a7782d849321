import { describe, expect, test } from 'vitest';
import { htmlToText } from '../../../src/lib/html/html-to-text.ts';

const LINE_CHARACTERS = 78;
const long = (word: string, times: number): string => Array(times).fill(word).join(' ');
const linesOf = (html: string): string[] => htmlToText(html).split('\n');

describe('tables', () => {
  test('rows are lines and cells are separated', () => {
    const row = '<tr><td>One pair of shoes</td>\n<td align="right">59.90</td></tr>';
    expect(htmlToText(`<table>${row.repeat(3)}</table>`)).toBe(
      ['One pair of shoes  59.90', 'One pair of shoes  59.90', 'One pair of shoes  59.90'].join('\n'),
    );
  });

  test('rows and cells without end tags are the same', () => {
    expect(htmlToText('<table><tr><th>What<th>Sum<tr><td>Shoes<td>59.90</table>')).toBe('What  Sum\nShoes  59.90');
  });

  test('layout tables, spacers and empty cells leave at most one empty line', () => {
    const spacer = '<tr><td height="20">&nbsp;</td></tr><tr><td><img src="x.gif" alt="" width="1"></td></tr>';
    const inner = `<table>${spacer}<tr><td><table><tr><td>One</td></tr></table></td></tr>${spacer}</table>`;
    expect(htmlToText(`<table><tr><td>${inner}</td></tr><tr><td>${inner}</td></tr></table>`)).toBe('One\n\nOne');
  });

  test('a paragraph in a cell does not continue the text of the cell before it', () => {
    const cells = `<td>A heading of some words</td><td>${long('text', 20)}</td>`;
    expect(linesOf(`<table><tr>${cells}</tr></table>`)).toEqual([
      'A heading of some words',
      long('text', 15),
      long('text', 5),
    ]);
  });

  test('a row of several lines is separate from the next, and stays together', () => {
    const row = '<tr><td><table><tr><td>Shoes</td></tr><tr><td>Size 42</td></tr></table></td><td>59.90</td></tr>';
    expect(htmlToText(`<table>${row}<tr><td></td><td>Socks</td><td>9.90</td></tr></table>`)).toBe(
      'Shoes\nSize 42\n59.90\n\nSocks  9.90',
    );
  });

  test('a label stays in front of its text', () => {
    const [line] = linesOf(`<table><tr><td>To:</td><td>${long('text', 20)}</td></tr></table>`);
    expect(line).toMatch(/^To: {2}text text/);
  });

  test('end tags in a cell that belong elsewhere end nothing', () => {
    expect(htmlToText('<div><table><tr><td>a</div></li><td>b</table></div>')).toBe('a  b');
  });
});

describe('blocks', () => {
  test.each(['p', 'h1', 'h6', 'ul', 'blockquote', 'table', 'pre', 'dl'])('%s is separated by empty lines', (name) => {
    expect(htmlToText(`a<${name}></${name}>b`)).toBe('a\n\nb');
  });

  test.each(['div', 'section', 'address', 'center', 'tr', 'figcaption'])('%s has its own lines', (name) => {
    expect(htmlToText(`a<${name}>x</${name}>b`)).toBe('a\nx\nb');
  });

  test('br ends a line, two leave one empty line, more leave no more', () => {
    expect(htmlToText('<br>a<br>b<br/><br>c<BR><br><br><br>d<br><br>')).toBe('a\nb\n\nc\n\nd');
  });

  test('hr becomes dashes, once', () => {
    expect(htmlToText('<hr>a<hr><hr>b')).toBe(`${'-'.repeat(40)}\n\na\n\n${'-'.repeat(40)}\n\nb`);
  });

  test('inline elements do not split words', () => {
    expect(htmlToText('<b>un</b><i>broken</i> <span>words</span>')).toBe('unbroken words');
  });
});

describe('white space', () => {
  test('collapses, no-break spaces too', () => {
    expect(htmlToText(' a \n\t b&nbsp;&nbsp; c\u3000d ')).toBe('a b c d');
  });

  test('is kept in preformatted text, except at line ends and in runs of empty lines', () => {
    expect(htmlToText('a<pre>\n  b   c  \n\n\n\td&#10;<b>e</b> f\r\n</pre>g')).toBe('a\n\n  b   c\n\n\td\ne f\n\ng');
  });

  test('that pads previews is removed', () => {
    expect(htmlToText(`<div>Hello${'&zwnj;&nbsp;&#847;&#8203;&shy;'.repeat(50)}</div>x`)).toBe('Hello\nx');
  });

  test('inside of words keeps joiners and marks', () => {
    expect(htmlToText('<p>👩‍👧 می‌خواهم</p>')).toBe('👩‍👧 می‌خواهم');
  });

  test('may contain soft hyphens and control characters, which leave no trace', () => {
    expect(htmlToText('Do&shy;nau\0dampf\u0007schiff\r\nx&#1;&#127;y')).toBe('Donaudampfschiff xy');
  });
});

describe('character references', () => {
  test.each([
    ['fish &amp; chips &lt;b> &copy 2025 &#8364;&#x20ac;', 'fish & chips <b> © 2025 €€'],
    ['R&D, &nosuch; &;&', 'R&D, &nosuch; &;&'],
    ['a < b &amp; c <', 'a < b & c <'],
    ['<textarea><b>&amp;</b></textarea>', '<b>&</b>'],
  ])('in text: %s', (html, text) => {
    expect(htmlToText(html)).toBe(text);
  });

  test('in attributes are read as attributes', () => {
    const href = `'/?a="1"&amp;b=2&copy=3&lt;'`;
    expect(htmlToText(`<a href=${href}>x</a><img alt="R&amp;D">`)).toBe('x [/?a="1"&b=2&copy=3<] R&D');
  });
});

describe('lists and quotes', () => {
  test('items are marked, numbered and indented', () => {
    const inner = '<ol start="9"><li>c<li>d</ol>';
    expect(htmlToText(`<ul><li>a</li><li>b ${inner}</li></ul>`)).toBe('* a\n* b\n  9. c\n  10. d');
  });

  test('their lines continue below their text', () => {
    expect(linesOf(`<ol><li><p>${long('word', 17)}</p></ol>`)).toEqual([
      `1. ${long('word', 15)}`,
      `   ${long('word', 2)}`,
    ]);
  });

  test('quotes are marked on each line, by their depth', () => {
    const quote = '<p>b</p><p>c</p><blockquote>d</blockquote>';
    expect(htmlToText(`a<blockquote>${quote}</blockquote>e`)).toBe('a\n\n> b\n>\n> c\n>\n> > d\n\ne');
  });

  test('definitions are indented below their terms', () => {
    expect(htmlToText('<dl><dt>a<dd>b<dt>c<dd>d</dl>')).toBe('a\n  b\nc\n  d');
  });
});

describe('links', () => {
  test('show where they go', () => {
    expect(htmlToText('Read <a href="https://x.example/?a=1&amp;b=2">all\nof it</a>, please')).toBe(
      'Read all of it [https://x.example/?a=1&b=2], please',
    );
  });

  test.each([
    ['the same as their text', '<a href="https://x.example/">https://x.example</a>', 'https://x.example'],
    ['an address that is their text', '<a href="mailto:a@x.example?subject=b">a@x.example</a>', 'a@x.example'],
    ['a number that is their text', '<a href="tel:+49301">+49 30-1</a>', '+49 30-1'],
    ['a part of the mail', '<a href="#top">up</a>', 'up'],
    ['nothing', '<a href="">x</a> <a>y</a>', 'x y'],
    ['a script', '<a href=" java\nscript:alert(1)">x</a>', 'x'],
  ])('add nothing if they go to %s', (_what, html, text) => {
    expect(htmlToText(html)).toBe(text);
  });

  test('to an address show the address', () => {
    expect(htmlToText('<a href="mailto:a@x.example?subject=b">Write</a>')).toBe('Write [a@x.example]');
  });

  test('of images show what the image says', () => {
    expect(htmlToText('<a href="https://x.example"><img alt="Our shop"></a>')).toBe('Our shop [https://x.example]');
  });

  test('of images that say nothing are left out if decorative, and shown if that is unknown', () => {
    expect(htmlToText('<a href="/a"><img alt=""></a><a href="/b"><img></a><a href="/c"> </a>')).toBe('[/b]');
  });

  test('around blocks go after the last of them', () => {
    expect(htmlToText('<a href="/x"><table><tr><td><p>a</p></td></tr></table></a>b')).toBe('a [/x]\n\nb');
  });

  test('are never broken', () => {
    const href = `https://x.example/${'a'.repeat(200)}`;
    expect(linesOf(`<p>See <a href="${href}">this</a> now</p>`)).toEqual(['See this', `[${href}]`, 'now']);
  });

  test('that are left open end where the next begins, or with the cell', () => {
    expect(htmlToText('<table><td><a href="/x">a<td>b<a href="/y">c<a href="/z">d</table>')).toBe(
      'a [/x]  bc [/y]d [/z]',
    );
  });
});

describe('content that is not for readers', () => {
  test.each([
    '<head><title>x</title><style>p{}</style></head>',
    '<script>if (a<b) document.write("<p>x")</script>',
    '<template><p>x</p></template>',
    '<!-- x --><!--[if mso]><p>x</p><![endif]-->',
    '<p hidden>x<p>',
    '<div style="color:red; DISPLAY : none!important">x<div>x</div>x</div>',
    '<span style="display:none">x<span>x</span>x</span>',
    '<table><tr style="display:none"><td>x<tr><td></table>',
    '<div style="max-height:0px;overflow:hidden">x</div>',
    '<img alt="x" style="display:none">',
    '<svg><title>x</title><path/><text>x</text></svg>',
  ])('such as %s is left out, and what follows is not', (html) => {
    expect(htmlToText(`a${html}<p>b</p>`)).toBe('a\n\nb');
  });

  test('alone leaves no text', () => {
    expect(htmlToText('<html><body><img src="x"><p>&nbsp;</p></body></html>')).toBe('');
  });
});

describe('lines', () => {
  test('are wrapped at words', () => {
    const lines = linesOf(`<p>${long('wrapped', 40)}</p>`);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(LINE_CHARACTERS);
    expect(lines.join(' ')).toBe(long('wrapped', 40));
  });

  test('with a longer word contain nothing else', () => {
    const word = 'a'.repeat(100);
    expect(linesOf(`<p>x ${word} y</p>`)).toEqual(['x', word, 'y']);
  });
});

describe('content that is not for readers', () => {
  test.each([
    ['<style>.preheader { display: none !important }</style>', '<span class="a preheader">Hidden</span>'],
    ['<style>/* .x { } */ span.preheader, #p { mso-hide: all }</style>', '<span class="preheader">Hidden</span>'],
    ['<STYLE type="text/css">@import url(x); #p{visibility:hidden}</STYLE>', '<div id="p">Hidden</div>'],
    ['', '<noscript>Hidden</noscript>'],
  ])('is left out: %s %s', (sheet, hidden) => {
    expect(htmlToText(`${sheet}${hidden}<p>Shown</p>`)).toBe('Shown');
  });

  test.each([
    '@media (max-width: 600px) { .preheader { display: none } }',
    '.preheader b { display: none }',
    '/* .preheader { display: none }',
    '.preheader { color: red } .other { display: none }',
  ])('does not include what a sheet hides elsewhere: %s', (css) => {
    expect(htmlToText(`<style>${css}</style><p class="preheader">Shown</p>`)).toBe('Shown');
  });
});
