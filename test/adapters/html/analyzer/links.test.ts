import { describe, expect, test } from 'vitest';
import { analysed, told, toldOfHtml } from './analysed.ts';

describe('links', () => {
  test.each([
    ['<a href="https://evil.example">https://bank.example</a>', ['link-text-mismatch html 1:1']],
    ['<p>\n <a href="https://evil.example"><b>www.bank</b>.com/login</a></p>', ['link-text-mismatch html 2:2']],
    ['<a href="https://evil.example">Go to (https://bank.example).</a>', ['link-text-mismatch html 1:1']],
    ['<a href="https://bank.co.uk.evil.example/">https://bank.co.uk</a>', ['link-text-mismatch html 1:1']],
    ['<a href="https://other.co.uk">https://bank.co.uk</a>', ['link-text-mismatch html 1:1']],
    ['<a href="https://evil.example">book&shy;ing\u200b.com</a>', ['link-text-other-name html 1:1']],
    ['<a href="https://evil.example">Booking.com</a>', ['link-text-other-name html 1:1']],
    ['<a href="https://www.bank.example/x">https://login.bank.example</a>', []],
    ['<a href="https://evil.example">Node.js 24 and v1.2.3, e.g. this</a>', []],
    ['<a href="https://evil.example">ann@bank.com</a>', []],
    ['<a href="mailto:ann@bank.example">bank.com</a>', []],
  ])('that name another host: %s', (html, expected) => {
    expect(toldOfHtml(html)).toEqual(expected);
  });

  test.each([
    ...[
      'http://localhost:3000/x',
      'https://127.0.0.1/',
      'https://10.1.2.3',
      'https://192.168.0.1',
      'https://172.16.9.9',
    ],
    ...['https://2130706433/', 'https://0x7f.1/', 'https://[::1]/', 'https://[fd00::1]/', 'https://[::ffff:10.0.0.1]/'],
    ...[
      'https://intranet/',
      'https://printer.local',
      'https://a.internal.',
      'https://169.254.169.254/',
      'file:///etc/x',
    ],
  ])('that only the sender can reach: %s', (href) => {
    expect(toldOfHtml(`<a href="${href}">x</a>`)).toEqual(['link-private-host html 1:1']);
    expect(toldOfHtml(`<img src="${href}" alt="x">`)).not.toEqual([]);
  });

  test.each([
    ['https://93.184.216.34/', ['link-ip-address html 1:1']],
    ['https://[2606:4700::1]/', ['link-ip-address html 1:1']],
    ['https://172.32.0.1', ['link-ip-address html 1:1']],
    ['https://bank.example@evil.example/', ['link-user-name html 1:1']],
    ['https:\\\\bank.example:x@evil.example', ['link-user-name html 1:1']],
    ['https://shop.example/?to=a@b.example', []],
    ['http://shop.example/', ['link-plain-http html 1:1']],
    ['https://bit.ly/3x', ['link-shortener html 1:1']],
    ['javascript:alert(1)', ['link-script html 1:1']],
    [' java\nscript:alert(1)', ['link-script html 1:1']],
    ['&#106;avascript:alert(1)', ['link-script html 1:1']],
    ['VBScript:x', ['link-script html 1:1']],
    ['data:text/html,x', ['link-script html 1:1']],
    ['', ['link-empty html 1:1']],
    ['#', ['link-empty html 1:1']],
    ['/orders/17', ['link-malformed html 1:1']],
    ['shop.example/orders', ['link-malformed html 1:1']],
    ['//shop.example/orders', ['link-malformed html 1:1']],
    ['https://', ['link-malformed html 1:1']],
    ['#top', []],
    ['mailto:a@shop.example', []],
    ['tel:+491234', []],
    ['https://shop.example/a#b', []],
  ])('to %j', (href, expected) => {
    expect(toldOfHtml(`<a href="${href}">x</a>`)).toEqual(expected);
  });

  test('in plain text are judged too, but once if the html also has them', () => {
    const text = 'Look:\r\n at http://shop.example/a, and (https://bit.ly/x).';
    expect(told({ text })).toEqual(['link-shortener text 2:33', 'link-plain-http text 2:5']);
    expect(toldOfHtml('<p>Look</p><a href="http://shop.example/a">x</a>', { text })).toEqual([
      'link-shortener text 2:33',
      'link-plain-http html 1:12',
    ]);
  });

  test('to other sites are informational, once for each site', () => {
    const html =
      '<a href="https://a.x.example">1</a><a href="https://b.x.example">2</a><a href="https://shop.example">3</a>';
    expect(told({ html, text: 'a' })).toEqual(['link-other-site html 1:1']);
  });

  test.each([
    ['https://xn--pple-43d.com/', 'mixes scripts in one word'], // аpple
    ['https://xn--80ak6aa92e.com/', 'looks like apple'], // аррӏе
    ['https://xn--mller-kva.de/', null], // müller
    ['https://xn--80aswg.xn--p1ai/', null], // сайт.рф
    ['https://xn--wgv71a119e.jp/', null], // 日本語
  ])('with a look-alike host: %s', (href, why) => {
    const found = analysed({ html: `<a href="${href}">x</a>` }).findings.filter(
      ({ rule }) => rule === 'lookalike-host',
    );
    expect(found.map(({ message }) => message.replace(/^.*" /, '').slice(0, -1))).toEqual(why === null ? [] : [why]);
  });
});
