import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { checkHtml } from '../../../src/lib/html/read-html.ts';
import type { Breakage } from '../../fixtures/html/broken/breakage.ts';
import { END_OF_INPUT } from '../../fixtures/html/broken/end-of-input.ts';
import { END_TAGS } from '../../fixtures/html/broken/end-tags.ts';
import { GARBAGE } from '../../fixtures/html/broken/garbage.ts';
import { LEFT_OPEN } from '../../fixtures/html/broken/left-open.ts';
import { MIS_NESTING } from '../../fixtures/html/broken/mis-nesting.ts';
import { PLACES } from '../../fixtures/html/broken/places.ts';
import { noPlainTokens, readsAllPlainly } from './tokenizers.ts';

const TEMPLATES = new URL('../../fixtures/html/valid/', import.meta.url);
const templates = readdirSync(TEMPLATES).map((name) => [name, readFileSync(new URL(name, TEMPLATES), 'utf8')] as const);
const breakages: readonly Breakage[] = [
  ...END_OF_INPUT,
  ...LEFT_OPEN,
  ...END_TAGS,
  ...MIS_NESTING,
  ...GARBAGE,
  ...PLACES,
];

const problemsOf = (html: string): readonly string[] =>
  checkHtml(html).map(({ line, column, message }) => `${line}:${column} ${message}`);

const withLineBreaks = (html: string, lineBreak: string): string => html.replace(/\r\n|\r|\n/g, lineBreak);

describe('templates common in mail are valid', () => {
  it('at least sixty of them', () => {
    expect(templates.length).toBeGreaterThanOrEqual(60);
  });

  it.each(templates)('%s', (_, html) => {
    expect(problemsOf(html)).toEqual([]);
  });

  it.each(templates)('%s, however its lines end', (_, html) => {
    for (const lineBreak of ['\n', '\r\n', '\r']) expect(problemsOf(withLineBreaks(html, lineBreak))).toEqual([]);
  });

  it.each(templates)('%s, with only the tokenizer of the standard too', (_, html) => {
    expect(checkHtml(html, noPlainTokens)).toEqual([]);
  });

  it('nine in ten of them are plain markup throughout', () => {
    const plain = templates.filter(([, html]) => readsAllPlainly(html));
    expect(plain.length).toBeGreaterThan(templates.length * 0.9);
  });

  it.each(templates)('%s, but not after a stray end tag', (_, html) => {
    expect(problemsOf(`</section>${html}`)[0]).toBe('1:1 unexpected end tag </section>');
  });
});

describe('html common in mail is valid', () => {
  it.each([
    'plain text, 1 < 2 && 3 > 2',
    '<p>Hello</p>',
    '<a href="x" href="y">z</a>',
    '<td STYLE="a" class=b style="c">z',
    '<p id="a"id="b">x',
    `<p ${Array.from({ length: 100 }, (_, index) => `a${index}`).join(' ')} a7>x`,
    '<!DOCTYPE html><html><head><title>x</title></head><body><p>x</p></body></html>',
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd"><html xmlns="http://www.w3.org/1999/xhtml"><body>x</body></html>',
    '<?xml version="1.0" encoding="utf-8"?><p>x</p>',
    '<p>one<p>two<div>three</div>',
    '<ul><li>a<li>b</ul><ol><li><p>a<li>b</ol>',
    '<dl><dt>a<dd>b<dt>c<dd>d</dl>',
    '<table><tr><td>a<td>b<tr><th>c</table>',
    '<table><caption>c<colgroup><col><col><thead><tr><td>h<tbody><tr><td>b<tfoot><tr><td>f</table>',
    '<table><tr><td><table><tr><td>nested</table><td>next</table>',
    '<select><optgroup label=a><option>1<option>2<optgroup label=b><option>3</select>',
    '<ruby>漢<rp>(<rt>kan<rp>)</ruby>',
    'a stray </p> and </br> and <img src="x"></img><br></br><hr/>',
    '<img src=a.png width=1 height=1 /><input type=text disabled>',
    '<!--[if mso]><table><tr><td><![endif]--><div>x</div><!--[if mso]></td></tr></table><![endif]-->',
    '<!--[if !mso]><!--><p>x</p><!--<![endif]-->',
    '<!--[if !mso]> --><p>x</p><!-- <![endif]-->',
    '<![if !mso]><p>x</p><![endif]>',
    '<!--[if gte mso 9]><xml><o:OfficeDocumentSettings><o:AllowPNG/></o:OfficeDocumentSettings></xml><![endif]-->',
    '<o:p></o:p><p class=MsoNormal>x<o:p>&nbsp;</o:p></p>',
    '<v:roundrect href="x" arcsize="10%"><v:fill type="tile" src="x"/><w:anchorlock/><center>x</center></v:roundrect>',
    '<center><font color=red face="Arial"><b>x</b></font></center>',
    '<body bgcolor="#fff" background=x.png><table cellpadding=0 border=0 align="center"><tr><td nowrap>x</td></tr></table></body>',
    '<p><table><tr><td>x</p></td></tr></table></p>',
    '<p><a href="x"><table><tr><td>x</td></tr></table></a></p>',
    '<style>p > a { content: "</div>" } <!-- --></style><script>if (a < b) "<b>"</script>',
    '<title>a <b> in a title</title><textarea><div></textarea>',
    '<svg viewBox="0 0 1 1"><path d="M0 0"/><title>x</title><style>a{}</style><![CDATA[ <x> ]]></svg>',
    '<math><mi>x</mi><mspace/></math>',
    '<html><p>no head, no body</html>',
    'text</body></html>',
    '<title>x</title></head><body>y</body></html><img src="pixel.gif">',
    '<a href="x?a=1&copy=2&b">x</a> &eacute; &nosuch; &#128512;',
    '<td>fragment</td>',
    '<a href="x"class="y">no space between attributes</a>',
    '<P>Upper <B>Case</b></p>',
    '<DIV\nclass="x"\r\nid=\'y\'\t>x</DIV >',
    '<my-element><slot></slot></my-element>',
    '<!-- a <!-- b --> c',
    '',
  ])('%s', (html) => {
    expect(problemsOf(html)).toEqual([]);
  });
});

describe('html that the parser keeps is accepted, even where it is moved', () => {
  it.each([
    ['text and blocks directly in a table are moved before it', '<table>x<div>y</div><tr><td>z</td></tr></table>'],
    ['a block in an inline element stays there', '<b><div>x</div></b>'],
    ['a block ends a paragraph, whose end tag is a stray then', '<p><div>x</div></p>'],
    ['rows, cells and options may be a fragment', '<td>x</td><tr><td>y<option>z'],
    ['a link in a cell of a linked table is another link', '<a href=x><table><tr><td><a href=y>z</a></table></a>'],
    ['attributes need no space between', '<a href="x"class="y">z</a>'],
    ['an unquoted value may contain equals signs', '<a href=/x?a=b&c=d==>z</a>'],
    ['curly quotes are letters of a value', '<a href=“x”>y</a>'],
    ['a slash may stand anywhere in a tag', '<br / ><a / href="x"/ title="y">z</a></br/>'],
    ['references that mean nothing cost a character, not markup', '&#0;&#xD83D;&#x110000;&#;&#x;&nosuch;&'],
    ['a comment may end with a bang and contain dashes', '<!-- -- --!>x<!-- a--b --->'],
    ['a comment in a conditional comment ends it', '<!--[if mso]><!-- x --><p>y</p><![endif]-->'],
    [
      'an end tag of a paragraph in a cell does not see the one outside',
      '<p><table><tr><td>x</p></td></tr></table></p>',
    ],
    ['a less-than sign before anything but a letter is text', '1<2 <3 <- <> <'.slice(0, -1)],
  ])('%s', (_, html) => {
    expect(problemsOf(html)).toEqual([]);
  });
});

describe('broken html is refused, with line, column and message', () => {
  it('at least sixty kinds of it', () => {
    expect(new Set(breakages.map(({ html }) => html)).size).toBeGreaterThanOrEqual(60);
  });

  it.each(breakages)('$what', ({ html, problems }) => {
    expect(problemsOf(html)).toEqual(problems);
  });

  it('at most twenty problems, the first ones of the text', () => {
    const problems = checkHtml('<i>\n'.repeat(30));
    expect(problems.map(({ line }) => line)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  it('the first of the text even if the last is found first', () => {
    const problems = problemsOf(`<center>\n${'</b>\n'.repeat(30)}`);
    expect(problems).toHaveLength(20);
    expect(problems.slice(0, 2)).toEqual(['1:1 element <center> is not closed', '2:1 unexpected end tag </b>']);
  });

  it('in a message that is short however long the names are', () => {
    const name = 'x'.repeat(500_000);
    const messages = checkHtml(`<b><${name}></b></${name}y>`).map(({ message }) => message);
    expect(messages).toHaveLength(2);
    for (const message of messages) expect(message.length).toBeLessThan(200);
  });
});
