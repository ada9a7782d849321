import { describe, expect, it } from 'vitest';
import { checkHtml } from '../../../src/adapters/html-checker/check-html.ts';

const problemsOf = (html: string): readonly string[] =>
  checkHtml(html).map(({ line, column, message }) => `${line}:${column} ${message}`);

describe('html that mail is written in is valid', () => {
  it.each([
    'plain text, 1 < 2 && 3 > 2',
    '<p>Hello</p>',
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

describe('broken html is refused, with line and column', () => {
  it.each([
    ['<p>x</div>', ['1:5 unexpected end tag </div>']],
    ['<div>\n  <p>x</p>\n</div>\n</div>', ['4:1 unexpected end tag </div>']],
    ['<div>\r\n\r\n  <span>x</div>', ['3:10 unexpected end tag </div>: <span> of line 3, column 3 is still open']],
    ['<a><b></a></b>', ['1:7 unexpected end tag </a>: <b> of line 1, column 4 is still open']],
    ['<div>', ['1:1 element <div> is not closed']],
    ['<p><b>x</p>', ['1:8 unexpected end tag </p>: <b> of line 1, column 4 is still open']],
    ['<html><body><div></body></html>', ['1:13 element <div> is not closed']],
    ['<table><tr><td>x', ['1:1 element <table> is not closed']],
    ['<ul><li>x</ol>', ['1:1 element <ul> is not closed', '1:10 unexpected end tag </ol>']],
    ['<h1>x</h2>', ['1:1 element <h1> is not closed', '1:6 unexpected end tag </h2>']],
    ['😀<b>', ['1:3 element <b> is not closed']],
    ['<div/>x', ['1:1 element <div> is not closed (its "/" does not close it)']],
    ['<a href="x"><p>x</a>', ['1:17 unexpected end tag </a>: <p> of line 1, column 13 is still open']],
    ['<a href="1">x<a href="2">y</a></a>', ['1:14 unexpected start tag <a>']],
    ['<form><form></form></form>', ['1:7 unexpected start tag <form>']],
    ['<body>x<body>y', ['1:8 unexpected start tag <body>']],
    ['</html></html>', ['1:8 unexpected end tag </html>']],
    ['<body></head>', ['1:7 unexpected end tag </head>']],
    ['x<!doctype html>', ['1:2 unexpected doctype']],
    ['<p>x<', ['1:6 the input ends inside a tag']],
    ['<p', ['1:3 the input ends inside a tag']],
    ['<p class', ['1:9 the input ends inside a tag']],
    ['<p class="x', ['1:12 the input ends inside a tag']],
    ["<p class='x>text</p>", ['1:21 the input ends inside a tag']],
    ['x</p', ['1:5 the input ends inside a tag']],
    ['x<!-- y', ['1:8 the input ends inside a comment']],
    ['<!doctype', ['1:10 the input ends inside the doctype']],
    ['<style>p {}', ['1:1 element <style> is not closed']],
    ['<title>x</title', ['1:1 element <title> is not closed']],
    ['<a href="x" href="y">z</a>', ['1:17 duplicate attribute']],
    ['<a href=x"y>z</a>', ['1:10 unexpected quote, "<", "=" or "`" in an unquoted value']],
    ['<a href="x"y">z</a>', ['1:13 unexpected quote or "<" in an attribute name']],
    ['<td width=>x', ['1:11 attribute without the value its "=" announces']],
    ['<p =x>y', ['1:4 unexpected "=" in a tag']],
    ['<b>x</b y>', ['1:10 end tag with attributes']],
    ['x</>y', ['1:4 end tag without a name']],
    ['x</ b>y', ['1:4 end tag without a name']],
    ['x<!b>y', ['1:2 malformed comment']],
    ['x<![CDATA[y]]>', ['1:2 malformed comment']],
    ['<?php echo 1 ?>', ['1:1 malformed comment']],
    ['x\0y', ['1:2 NUL character']],
    ['x\ud800y', ['1:2 half of a surrogate pair']],
  ])('%j', (html, problems) => {
    expect(problemsOf(html)).toEqual(problems);
  });

  it('a tag that swallows the next one is reported where it happens', () => {
    expect(problemsOf('<div\n  <b>x</b>\n</div>')[0]).toBe('2:3 unexpected quote or "<" in an attribute name');
  });

  it('once for each cause, not for every tag it upsets', () => {
    expect(problemsOf('<div><a><b><i>x</a></i></b></div>')).toHaveLength(1);
  });

  it('at most twenty problems, in the order of the text', () => {
    const problems = checkHtml('<i>\n'.repeat(30));
    expect(problems.map(({ line }) => line)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });
});

describe('a megabyte of anything is checked in time in proportion to its size', () => {
  it.each([
    ['start tags', '<b>'.repeat(330_000)],
    ['start tags, then other end tags', '<b>'.repeat(170_000) + '</x>'.repeat(120_000)],
    ['a deep cell with stray paragraph ends', `<p><table><td>${'<b>'.repeat(170_000)}${'</p>'.repeat(120_000)}`],
    ['attributes', `<a ${Array.from({ length: 130_000 }, (_, index) => `a${index}`).join(' ')}>`],
    ['the same attribute', `<a ${'a '.repeat(500_000)}>`],
    ['less-than signs', '<'.repeat(1_000_000)],
    ['mis-nesting', '<a><b></a></b>'.repeat(70_000)],
    ['comments that open', '<!--'.repeat(250_000)],
    ['ampersands', '&'.repeat(1_000_000)],
    ['half end tags in a title', `<title>${'</titl'.repeat(160_000)}`],
    ['scripts in scripts', `<script>${'<!--<script'.repeat(90_000)}`],
    ['lists in lists', '<ul><li>'.repeat(120_000)],
    ['foreign elements', '<svg>'.repeat(200_000)],
  ])('%s', (_, html) => {
    const before = process.threadCpuUsage();
    expect(checkHtml(html).length).toBeLessThanOrEqual(20);
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(2000);
  });
});
