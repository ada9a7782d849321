import { describe, expect, test } from 'vitest';
import { countOf, told, toldOfHtml } from './analysed.ts';

describe('the subject', () => {
  const reply = { 'In-Reply-To': '<1@example.org>' };
  test.each([
    ['\u200b \u00a0\u2060', {}, ['subject-blank subject']],
    ['x'.repeat(78), {}, []],
    ['x'.repeat(79), {}, ['subject-long subject']],
    ['x'.repeat(151), {}, ['subject-too-long subject']],
    ['THE BEST OFFER OF ALL', {}, ['subject-shouting subject']],
    ['ЛУЧШЕЕ ПРЕДЛОЖЕНИЕ', {}, ['subject-shouting subject']],
    ['Buy now!!!', {}, ['subject-shouting subject']],
    ['NASA & ESA: news', {}, []],
    ['Re: your order', {}, ['subject-fake-reply subject']],
    ['AW : Ihre Bestellung', {}, ['subject-fake-reply subject']],
    ['Fwd: your order', {}, ['subject-fake-reply subject']],
    ['RE[2]: your order', {}, ['subject-fake-reply subject']],
    ['Re: your order', reply, []],
    ['Regarding: your order', {}, []],
    ['Your \u202eredro', {}, ['subject-deceptive subject']],
    ['Your \u202dorder', {}, ['subject-deceptive subject']],
    ['\u200fהזמנה \u2067שלך\u2069 17\u200e', {}, []],
    ['Hello {{first_name}}', {}, ['template-marker subject']],
    ['Gr\u00c3\u00bc\u00c3\u0178e &amp; more', {}, ['encoding-damage subject', 'encoding-damage subject']],
  ])('%j', (subject, headers, expected) => {
    expect(told({ subject, headers })).toEqual(expected);
  });
});

describe('template markers', () => {
  test.each([
    ...['{{name}}', '{{{name}}}', '{{ user.name | default: "x" }}', '{% if a %}', '<%= name %>', '&lt;%= name %&gt;'],
    ...['$' + '{name}', '%%FIRST NAME%%', '[[name]]', '*|FNAME|*', '*|IF:X|*', '[object Object]'],
  ])('%s is reported in the text of html, in its attributes and in plain text', (marker) => {
    expect(toldOfHtml(`<p>Hi\n ${marker}</p>`)).toEqual(['template-marker html 2:2']);
    const escaped = marker.replaceAll('"', '&quot;');
    expect(toldOfHtml(`<p title="a ${escaped}">x</p>`)).toEqual(['template-marker html 1:13']);
    if (!marker.startsWith('&')) expect(told({ text: `Hi\n ${marker}` })).toEqual(['template-marker text 2:2']);
  });

  test('for the address of the copy are filled in later, in html and text only', () => {
    const marker = '{{ view_url }}';
    expect(toldOfHtml(`<p><a href="${marker}">View in browser</a> ${marker}</p>`)).toEqual([]);
    expect(told({ text: marker })).toEqual([]);
    expect(told({ subject: marker })).toEqual(['template-marker subject']);
  });

  test.each([
    ...['<style>.a{{color:red}}</style>', '<!-- {{name}} -->', '<p style="{{css}}">x</p>', '<script>{{x}}</script>'],
    ...['<p>{ } {{}} {{ %} 50%% $5 [1] [[1]] ** | {a}</p>', '<p>{{a\nb}}</p>'],
  ])('are not reported in %s', (html) => {
    expect(countOf('template-marker', { html })).toBe(0);
  });

  test.each(['code', 'kbd', 'samp'])('shown in <%s> are an example, in the html and in its plain text', (name) => {
    const html = `<p>Write <${name}>{{ <b>x</b> }} {{ name }}</${name}> for the name.</p>`;
    expect(toldOfHtml(html, { text: 'Write {{ name }} for the name.' })).toEqual([]);
  });

  test('next to code and in its attributes are reported, and so is a secret in code', () => {
    expect(toldOfHtml('<p><code>{{ a }}</code>{{ b }}</p>')).toEqual(['template-marker html 1:24']);
    expect(toldOfHtml('<p><code title="{{ b }}">x</code></p>')).toEqual(['template-marker html 1:17']);
    expect(toldOfHtml('<code>{{ a }}</code>', { text: '{{ a }} {{ b }}' })).toEqual(['template-marker text 1:9']);
    expect(toldOfHtml('<code>sk_live_abcdefghijklmnop1234</code>')).toEqual(['secret html 1:7']);
  });

  test('are reported in the titles of documents and in the names of people', () => {
    expect(toldOfHtml('<title>{{title}}</title><p>x</p>')).toEqual(['template-marker html 1:8']);
    expect(
      told({
        recipients: [
          { address: 'a@example.org', name: 'A', kind: 'to' },
          { address: 'b@example.org', name: '{{name}}', kind: 'to' },
        ],
      }),
    ).toEqual(['template-marker to[1]']);
  });
});

describe('encoding damage', () => {
  test.each([
    ['M\u00c3\u00a4dchen', 1],
    ['it\u00e2\u20ac\u2122s', 1],
    ['caf\ufffd', 1],
    ['\u00f0\u0178\u02dc\u20ac', 1],
    ['a&amp;nbsp;b &amp;#39;', 2],
    ['Mädchen it’s café 😀 &nbsp; &amp; A&amp;B; ÃO', 0],
  ])('of %j is reported', (words, count) => {
    expect(countOf('encoding-damage', { html: `<p>${words}</p>` })).toBe(count);
    expect(countOf('encoding-damage', { html: `<style>/*${words}*/</style>` })).toBe(0);
  });

  test('is reported in the names of people', () => {
    expect(told({ from: { address: 'a@shop.example', name: 'Caf\u00c3\u00a9' } })).toEqual(['encoding-damage from']);
  });

  test('is reported for entities in plain text', () => {
    expect(told({ text: 'A &amp; B' })).toEqual(['encoding-damage text 1:3']);
  });
});
