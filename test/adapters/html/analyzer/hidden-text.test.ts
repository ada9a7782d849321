import { describe, expect, test } from 'vitest';
import { analysed } from './analysed.ts';

const reasons = (html: string): readonly string[] =>
  analysed({ html })
    .findings.filter(({ rule }) => rule === 'hidden-text')
    .map(({ message, line, column }) => `${line}:${column} ${message.replace(/^.* by /, '').slice(0, -1)}`);

const after = (html: string): string => `<p>Seen.</p>${html}`;

describe('text is hidden', () => {
  test.each([
    ['<p style="display:none">a</p>', 'display: none'],
    ['<p style="DISPLAY : None !important">a</p>', 'display: none'],
    ['<p style="visibility:hidden">a</p>', 'visibility: hidden'],
    ['<p style="opacity:0">a</p>', 'opacity: 0'],
    ['<p style="max-height:0px;overflow:hidden">a</p>', 'a height of 0'],
    ['<p hidden>a</p>', 'the attribute hidden'],
    ['<p style="font-size:0">a</p>', 'font-size: 0px'],
    ['<p style="font-size:1px">a</p>', 'font-size: 1px'],
    ['<p style="color:#fff;background:#FFFFFF">a</p>', 'the colour of its background'],
    ['<td bgcolor="white"><font color="#ffffff">a</font></td>', 'the colour of its background'],
    ['<p style="background-color:rgb(255, 255, 255)"><b style="color:white">a</b></p>', 'the colour of its background'],
    ['<p style="color:transparent">a</p>', 'a transparent colour'],
    ['<p style="color:rgba(0, 0, 0, 0)">a</p>', 'a transparent colour'],
    ['<p style="text-indent:-9999px">a</p>', 'a place out of sight'],
    ['<p style="position:absolute;left:-999em">a</p>', 'a place out of sight'],
    [
      '<div style="display:none"><table><tr><td><b style="display:block">a</b></td></tr></table></div>',
      'display: none',
    ],
  ])('by %s', (html, by) => {
    const found = reasons(after(html));
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(new RegExp(`^1:\\d+ ${by}$`));
  });

  test('once for each element, with the place where it begins', () => {
    expect(reasons(after('\n<div hidden>a<b>b</b><p>c</p>d</div>\n<i hidden>e</i>'))).toEqual([
      '2:1 the attribute hidden',
      '3:1 the attribute hidden',
    ]);
  });

  test('by a paragraph whose end tag is left out, up to where it ends', () => {
    const [finding] = analysed({ html: after('<p hidden>abc<p>defghi') }).findings.filter(
      ({ rule }) => rule === 'hidden-text',
    );
    expect(finding?.message).toBe('Text of length 3 is hidden by the attribute hidden.');
  });
});

describe('text is not hidden', () => {
  test.each([
    '<p style="display:none">&nbsp;&zwnj;&#847;</p>',
    '<p style="font-size:0">&nbsp;<span style="font-size:14px">a</span></p>',
    '<p style="font-size:0"><font size="3">a</font></p>',
    '<p style="max-height:0">a</p>',
    '<p style="opacity:0.5">a</p>',
    '<p style="color:rgba(0,0,0,0.10)">a</p>',
    '<p style="color:rgba(0,0,0,1.0)">a</p>',
    '<p style="margin-top:-20px;text-indent:-1em">a</p>',
    '<p style="font-size:100%">a</p>',
    '<p style="color:#ffffff">a</p>',
    '<p style="color:#fff;background:#fff url(x.png)">a</p>',
    '<td style="background:#fff" background="x.png"><b style="color:#fff">a</b></td>',
    '<p style="background:#fff"><b style="background:#000;color:#fff">a</b></p>',
    '<p style="color:#fff;background:#fff"><b style="color:#000">a</b></p>',
    '<!-- <p hidden>a</p> --><!--[if mso]><p hidden>a</p><![endif]-->',
    '<style>p { display: none }</style>',
    '<p style="content:\'display:none\'">a</p>',
    '<img hidden src="cid:x" alt="a" width="9">',
    '<p hidden></p><br hidden>a',
  ])('by %s', (html) => {
    expect(reasons(after(html))).toEqual([]);
  });
});

describe('a preheader', () => {
  const hidden = (text: string) => `<div style="display:none">${text}</div>`;
  test('may be hidden at the start, together with its padding', () => {
    const filler = hidden('&#847; &zwnj;&nbsp;'.repeat(100));
    expect(reasons(`<title>x</title><style>a{}</style>${hidden('a'.repeat(200))}${filler}<p>b</p>`)).toEqual([]);
  });
  test('is short', () => expect(reasons(`${hidden('a'.repeat(201))}<p>b</p>`)).toHaveLength(1));
  test('is one', () => expect(reasons(`${hidden('a')}${hidden('b')}<p>c</p>`)).toHaveLength(1));
  test('comes before the visible text', () => expect(reasons(`<p>b</p>${hidden('a')}`)).toHaveLength(1));
});

test('what a style sheet shows on other screens is not called hidden, unless nothing names it', () => {
  const sheet = '<style>@media (max-width:600px) { .m { display: block !important } }</style>';
  expect(reasons(`${sheet}<p>a</p><p class="m" style="display:none">b</p>`)).toEqual([]);
  expect(reasons(`${sheet}<p>a</p><p style="display:none">b</p>`)).toHaveLength(1);
  expect(reasons(`<style>.m { color: red }</style><p>a</p><p class="m" style="display:none">b</p>`)).toHaveLength(1);
});
