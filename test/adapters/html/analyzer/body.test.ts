import { describe, expect, test } from 'vitest';
import { analysed, countOf, told, toldOfHtml } from './analysed.ts';

const attached = (filename: string, content = 'aGVsbG8=') => ({ filename, contentType: 'application/pdf', content });

describe('images', () => {
  const text = 'Long enough to stand next to the images that are tested here.';
  test.each([
    ['<img src="https://shop.example/a.png" width="9" alt="">', []],
    ['<img src="https://shop.example/a.png" width="9">', ['image-without-alt html 1:1']],
    ['<img src="https://shop.example/a.png" alt="a">', ['image-without-width html 1:1']],
    ['<img src="https://shop.example/a.png" alt="a" style="border:0;width:100%">', []],
    ['<img src="data:image/png;base64,iVBORw0KGgo=" width="9" alt="">', ['image-data-uri html 1:1']],
    ['<img src="a.png" width="9" alt="">', ['image-without-source html 1:1']],
    ['<img width="9" alt="">', ['image-without-source html 1:1']],
    ['<img src="http://shop.example/a.png" width="9" alt="">', ['link-plain-http html 1:1']],
    ['<img src="cid:none" width="9" alt="">', ['image-attachment-missing html 1:1']],
    ['<img src="cid:a%40b" width="9" alt=""><img src="CID:c" width="9" alt="">', []],
    ['<img src="https://t.example/o.gif" width="1" height="1">', ['tracking-pixel html 1:1']],
    ['<img src="https://t.example/o.gif" style="width:1px;height:0px">', ['tracking-pixel html 1:1']],
    ['<img src="{{logo}}" width="9" alt="">', ['template-marker html 1:11']],
  ])('%s', (html, expected) => {
    const attachments = [
      { ...attached('a.png'), contentId: 'a@b' },
      { ...attached('c.png'), contentId: 'c' },
    ];
    expect(told({ html: `${html}<p>${text}</p>`, text, attachments })).toEqual(expected);
  });

  const logo = { ...attached('logo.png'), contentType: 'image/png', contentId: 'logo@shop' };
  test.each([
    ['<p>x</p>', logo, 1],
    ['<img src="cid:other">', logo, 1],
    ['<p>cid:logo@shop2</p>', logo, 1],
    ['<img src="cid:logo@shop">', logo, 0],
    ['<img src="CID:logo%40shop">', logo, 0],
    ['<img src="cid:logo&#64;shop">', logo, 0],
    ['<img src="cid:logo@shop">', { ...logo, contentId: '<logo@shop>' }, 0],
    ['<table background="cid:logo@shop"></table>', logo, 0],
    ['<style>p { background: url(cid:logo@shop) }</style>', logo, 0],
    ['<!--[if mso]><v:fill src="cid:logo@shop"/><![endif]-->', logo, 0],
    ['<p>x</p>', { ...logo, disposition: 'attachment' as const }, 0],
    ['<p>x</p>', { ...logo, contentType: 'application/pdf' }, 0],
    ['<p>x</p>', { ...attached('logo.png'), contentType: 'image/png' }, 0],
  ])('that are attached and shown by %s', (html, attachment, count) => {
    expect(countOf('image-attachment-unused', { html, attachments: [attachment] })).toBe(count);
  });

  test('that are attached to mail without html are files', () => {
    expect(countOf('image-attachment-unused', { attachments: [logo] })).toBe(0);
  });

  test('that carry all of the content are reported', () => {
    const image = '<a href="https://shop.example"><img src="https://shop.example/a.png" width="600" alt="Sale"></a>';
    expect(countOf('image-heavy', { html: image })).toBe(1);
    expect(countOf('image-heavy', { html: `${image}<p>${text}</p>` })).toBe(0);
    expect(countOf('image-heavy', { html: `${image.repeat(9)}<p>${text}</p>` })).toBe(1);
    const icon = '<img src="https://shop.example/a.png" width="24" alt="">';
    expect(countOf('image-heavy', { html: `${icon.repeat(9)}<p>${text}</p>` })).toBe(0);
  });
});

describe('the body', () => {
  test.each([
    ['<p>\n <b>x</p>', ['html-invalid html 2:6']],
    ['<html><body><p>x</p></body></html>', ['html-lang-missing html 1:1']],
    ['<p>x</p><script>1</script>', ['active-content html 1:9']],
    ['<script type="application/ld+json">{}</script><p>x</p>', []],
    ['<form><input></form><p>x</p>', ['active-content html 1:1', 'active-content html 1:7']],
    ['<p onclick="x()">x</p>', ['active-content html 1:1']],
    ['<meta http-equiv="Refresh" content="0"><p>x</p>', ['active-content html 1:1']],
    ['<iframe src="x"></iframe><p>x</p>', ['active-content html 1:1']],
    ['<style>\n@import url(x);</style><p>x</p>', ['external-style html 2:1']],
    ['<link rel="stylesheet" href="x"><p>x</p>', ['external-style html 1:1']],
    ['<p>sk_live_abcdefghijklmnop1234</p>', ['secret html 1:4']],
  ])('%s', (html, expected) => {
    expect(toldOfHtml(html)).toEqual(expected);
  });

  test('that shows nothing is reported', () => {
    expect(told({ html: '<p>&nbsp;\u200b</p>', text: 'x' })).toEqual(['body-empty html']);
    expect(told({ text: ' \n' })).toEqual(['body-empty text']);
  });

  test('without plain text gets one, and a text that differs is reported', () => {
    const words =
      'alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa quebec romeo sierra tango uniform victor whiskey';
    expect(analysed({ html: `<p>${words}</p>`, text: words }).findings).toEqual([]);
    expect(countOf('text-differs', { html: `<p>${words}</p>`, text: 'Please see the version on the web' })).toBe(1);
    expect(countOf('text-differs', { html: `<p>${words}</p>`, text: `${words} with a little more` })).toBe(0);
    expect(countOf('text-differs', { html: `<p>${words}</p>`, text: words.split(' ').slice(0, 15).join(' ') })).toBe(0);
  });

  test.each([
    ['<p>Your invoice of March is ready now</p>', 'Lorem ipsum dolor sit amet', 1],
    ['<p>Your invoice of March is ready now</p>', 'The invoice of March is ready for you', 0],
    ['<p>Your invoice</p>', 'Lorem ipsum dolor sit amet', 0],
    ['<p>Your invoice of March is ready now</p>', 'Hello!', 0],
    ['<p>See it in your browser</p><img alt="Summer sale begins" src="x">', 'Summer sale begins today', 0],
    ['<p>ご注文の商品を発送</p>', 'パスワードをリセット', 1],
    ['<p>ご注文の商品を発送</p>', 'ご注文の商品を発送しました', 0],
  ])('is short, and its text is compared too: %s and %s', (html, text, count) => {
    expect(countOf('text-differs', { html, text })).toBe(count);
  });

  test('larger than Gmail shows is reported, counted in UTF-8', () => {
    const html = (characters: number) => `<p>${'é'.repeat(characters)}</p>`;
    expect(countOf('html-clipped', { html: html(51 * 1024) })).toBe(1);
    expect(countOf('html-clipped', { html: html(51 * 1024 - 4) })).toBe(0);
  });

  test('with more than 10 MB of attachments is reported with its size', () => {
    const content = 'A'.repeat(10_000_000);
    const analysis = analysed({ attachments: [attached('a.pdf', content)] });
    expect(analysis.findings.map(({ rule, field }) => [rule, field])).toEqual([['message-large', 'attachments']]);
    expect(analysis.sizeBytes).toBeGreaterThan(10_000_000);
    expect(analysed({ attachments: [attached('a.pdf', content.slice(0, 9_000_000))] }).verdict).toBe('pass');
  });

  test('nested deeper than any real layout is reported', () => {
    expect(countOf('html-deep', { html: `${'<div>'.repeat(100)}x${'</div>'.repeat(100)}` })).toBe(0);
    expect(countOf('html-deep', { html: `${'<div>'.repeat(101)}x${'</div>'.repeat(101)}` })).toBe(1);
  });
});

test('a body of only html gets a text part, and a note about it', () => {
  const { findings, verdict, score } = analysed({ html: '<p>x</p>' }, {}, ['text']);
  expect(findings.map(({ rule, severity }) => [rule, severity])).toEqual([['text-missing', 'info']]);
  expect([verdict, score]).toEqual(['pass', 99]);
});
