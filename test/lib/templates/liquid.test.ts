import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readMarks } from '../../../src/domain/template/render-template.ts';
import { checkLiquid, createLiquidRenderer } from '../../../src/lib/templates/liquid.ts';
import { OUTPUT_END, OUTPUT_START, TemplateFailed } from '../../../src/lib/templates/template-renderer.ts';
import { processorMs } from '../../support/processor-time.ts';

const renderer = createLiquidRenderer();
const OPTIONS = { locale: 'en', escapes: true, charactersMax: 1_000_000 };
/** Renders again what took too long: a garbage collection of this process counts too, and does not strike twice. */
const marked = (source: string, values: object = {}, more: Partial<typeof OPTIONS> = {}): string => {
  const rendered = () => renderer.render(source, { ...values }, { ...OPTIONS, ...more });
  try {
    return rendered();
  } catch (error) {
    if (error instanceof TemplateFailed && error.message.includes('it takes longer')) return rendered();
    throw error;
  }
};
const render = (...given: Parameters<typeof marked>): string => readMarks(marked(...given)).html;

describe('a template', () => {
  test('shows variables, chooses, repeats', () => {
    const source =
      '{% if vip %}Dear {{ name }}{% endif %}:{% for item in items %} {{ item.title | upcase }}{% endfor %}';
    expect(render(source, { vip: true, name: 'Ann', items: [{ title: 'a' }, { title: 'b' }] })).toBe('Dear Ann: A B');
  });

  test('escapes values in html, and not in text', () => {
    const values = { name: '<script>"&' };
    expect(render('{{ name }}', values)).toBe('&lt;script&gt;&#34;&amp;');
    expect(render('{{ name }}', values, { escapes: false })).toBe('<script>"&');
    expect(render('{{ name | raw }}', values)).toBe('<script>"&');
  });

  test('marks what values become, and a value cannot forge a mark', () => {
    const values = { name: 'a\uFDD1<\uFDD0b', list: ['x', 'y'] };
    expect(marked('<p title="{{ name }}">', values)).toBe(`<p title="${OUTPUT_START}a&lt;b${OUTPUT_END}">`);
    expect(marked('{% for each in list %}{{ each }}{% endfor %}', values)).toBe(
      `${OUTPUT_START}x${OUTPUT_END}${OUTPUT_START}y${OUTPUT_END}`,
    );
    expect(marked('{{ name | raw }}', { name: '<b>' })).toBe('<b>');
    expect(marked('{{ name }}', { name: 'Ann' }, { escapes: false })).toBe('Ann');
  });

  test('compares captured text unchanged', () => {
    const source = '{% capture who %}{{ name }}{% endcapture %}{% if who == "Ann" %}yes{% endif %}';
    expect(marked(source, { name: 'Ann' })).toBe('yes');
  });

  test('escapes any value, whatever filters it went through', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.constantFrom('upcase', 'strip', 'append: "<"', 'reverse'),
        (name, filter) => {
          expect(render(`{{ name | ${filter} }}`, { name })).not.toMatch(/[<>"]/);
        },
      ),
    );
  });

  test.each([
    ['{{ at | date: "long" }}', 'de', '31. Januar 2026'],
    ['{{ at | date: "medium", "short", "Europe/Berlin" }}', 'en-GB', '31 Jan 2026, 10:30'],
    ['{{ total | money: "EUR" }}', 'de-AT', '€ 1.234,50'],
    ['{{ total | number: 2 }}', 'en', '1,234.50'],
  ])('formats %s in %s', (source, locale, expected) => {
    const text = render(source, { at: '2026-01-31T09:30:00Z', total: 1234.5 }, { locale, escapes: false });
    expect(text.replaceAll(/[\u00a0\u202f]/g, ' ')).toBe(expected);
  });

  test.each([
    ['{{ x | escape }}', 'a &amp; &lt;b&gt;\n&amp;amp;'],
    ['{{ x | escape | escape }}', 'a &amp; &lt;b&gt;\n&amp;amp;'],
    ['{{ x | escape_once }}', 'a &amp; &lt;b&gt;\n&amp;'],
    ['{{ x | escape_once | raw }}', 'a &amp; &lt;b&gt;\n&amp;'],
    ['{{ x | newline_to_br }}', 'a &amp; &lt;b&gt;<br />\n&amp;amp;'],
    ['{{ x | escape | newline_to_br }}', 'a &amp; &lt;b&gt;<br />\n&amp;amp;'],
    ['{{ x | newline_to_br | escape }}', 'a &amp; &lt;b&gt;<br />\n&amp;amp;'],
    ['{{ x | newline_to_br | raw }}', 'a &amp; &lt;b&gt;<br />\n&amp;amp;'],
    ['{{ x | escape | raw }}', 'a &amp; &lt;b&gt;\n&amp;amp;'],
    ['{{ x | escape | append: "<i>" }}', 'a &amp; &lt;b&gt;\n&amp;amp;&lt;i&gt;'],
    ['{{ x | escape | append: "<i>" | raw }}', 'a &amp; &lt;b&gt;\n&amp;amp;<i>'],
    ['{{ x | escape | upcase | prepend: x | slice: 0, 3 }}', 'a &amp;'],
    [
      '{% assign y = x | escape %}{{ y }}{{ y | raw | upcase }}',
      'a &amp; &lt;b&gt;\n&amp;amp;A &amp; &lt;B&gt;\n&amp;AMP;',
    ],
    ['{% capture y %}<i>{{ x }}</i>{% endcapture %}{{ y }}', '<i>a &amp; &lt;b&gt;\n&amp;amp;</i>'],
    ['{% capture y %}{{ x | newline_to_br }}{% endcapture %}{{ y }}', 'a &amp; &lt;b&gt;<br />\n&amp;amp;'],
    ['{% capture y %}ab{% endcapture %}{{ y.size }}{% if y contains "b" %}{{ y | append: "<" }}{% endif %}', '2ab&lt;'],
    ['{{ "a &nbsp;&#8364; b" | escape_once }}', 'a \u00a0€ b'],
    ['{{ missing | escape }}{{ missing | newline_to_br }}{{ missing | escape_once }}', ''],
    [
      '{{ x | newline_to_br | default: "none" }}{{ missing | escape | default: "<" }}',
      'a &amp; &lt;b&gt;<br />\n&amp;amp;&lt;',
    ],
    ['{% capture y %}ab{% endcapture %}{{ y | size }}{% assign z = y | split: "" %}{{ z | size }}', '22'],
    ['{% echo x | newline_to_br | raw %}', 'a &amp; &lt;b&gt;<br />\n&amp;amp;'],
    ['{% echo x | escape %}', 'a &amp; &lt;b&gt;\n&amp;amp;'],
  ])('escapes once: %s', (source, expected) => {
    expect(render(source, { x: 'a & <b>\n&amp;' })).toBe(expected);
  });

  test('shows no markup of line breaks in text', () => {
    expect(render('{{ x | newline_to_br }}', { x: 'a\n<b>' }, { escapes: false })).toBe('a\n<b>');
  });

  test('escapes any value, whatever escaping filters it went through, except raw', () => {
    const filters = fc.constantFrom(
      'escape',
      'escape_once',
      'newline_to_br',
      'upcase',
      'append: x',
      'split: "" | join',
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.array(filters, { maxLength: 4 }), (x, chain) => {
        const html = render(`{{ ${['x', ...chain].join(' | ')} }}`, { x });
        expect(html.replaceAll('<br />', '')).not.toMatch(/[<>"']/);
      }),
    );
  });

  test.each(['2026-02-29', '2026-02-30T10:00:00Z', '2026-13-01', '2026-04-31', '2026-00-10', '2026-01-00'])(
    'refuses %s, which is on no calendar',
    (at) => {
      expect(() => render('{{ at | date }}', { at })).toThrow(`'${at}' is not a date`);
    },
  );

  test.each(['America/Los_Angeles', 'Pacific/Kiritimati', 'UTC'])(
    'shows a calendar date as the same day in %s',
    (zone) => {
      expect(render('{{ at | date: "long", "none", zone }}', { at: '2026-12-25', zone })).toBe('December 25, 2026');
    },
  );

  test('refuses a time zone that does not exist, for calendar dates too', () => {
    expect(() => render('{{ "2026-12-25" | date: "long", "none", "Mars/Crater" }}')).toThrow('unknown time zone');
  });

  test('reads a time without offset in UTC, on any machine', () => {
    expect(render('{{ "2026-12-25T23:30" | date: "short", "short" }}').replaceAll('\u202f', ' ')).toBe(
      '12/25/26, 11:30 PM',
    );
  });

  test('splits text into what readers see as characters', () => {
    const source = '{% assign all = x | split: "" %}{{ all | size }}:{{ all | join: " " }}';
    expect(render(source, { x: '👩‍👩‍👧e\u0301🇩🇪न' }, { escapes: false })).toBe('4:👩‍👩‍👧 e\u0301 🇩🇪 न');
    expect(render('{{ x | split: "," | join: "+" }}', { x: 'a,b' })).toBe('a+b');
  });

  test.each([
    ['slice: 0', '👩‍👩‍👧'],
    ['slice: 1, 2', 'e\u0301a'],
    ['slice: -2, 2', '👍🏽न'],
    ['slice: 3, 1000000000', '👍🏽न'],
    ['slice: -9', ''],
    ['slice: 9', ''],
    ['slice: "1"', 'e\u0301'],
    ['slice: "x"', '👩‍👩‍👧'],
    ['slice: 0, -1', ''],
    ['truncate: 3, ""', '👩‍👩‍👧e\u0301a'],
    ['truncate: 4', '👩‍👩‍👧...'],
    ['truncate: 4, "👩‍👩‍👧"', '👩‍👩‍👧e\u0301a👩‍👩‍👧'],
    ['truncate: 5', '👩‍👩‍👧e\u0301a👍🏽न'],
    ['truncate: 0', '...'],
    ['truncate', '👩‍👩‍👧e\u0301a👍🏽न'],
    ['first', '👩‍👩‍👧'],
    ['last', 'न'],
    ['replace: "", "-"', '👩‍👩‍👧-e\u0301-a-👍🏽-न'],
    ['replace: "a", "-"', '👩‍👩‍👧e\u0301-👍🏽न'],
  ])('cuts no character that readers see into pieces: %s', (filter, expected) => {
    const x = '👩‍👩‍👧e\u0301a👍🏽न';
    expect(render(`{{ x | ${filter} }}`, { x })).toBe(expected);
    expect(render(`{{ x | ${filter} }}`, { x }, { escapes: false })).toBe(expected);
  });

  test.each([
    ['{{ list | slice: 1 | join }}|{{ list | first }}|{{ list | last }}', 'é|a&amp;b|é'],
    ['{{ missing | slice: 0 }}{{ missing | truncate: 3 }}{{ missing | first }}{{ missing | replace: "", "x" }}', ''],
    ['{{ "a&ü" | escape | slice: 0, 2 }} {{ "ü&b" | escape | truncate: 4, "" }}', 'a&amp; ü&amp;b'],
    ['{{ 12345 | slice: 1, 2 }}', '23'],
  ])('cuts lists and other values as liquidjs does: %s', (source, expected) => {
    expect(render(source, { list: ['a&b', 'é'] })).toBe(expected);
  });

  test('never leaves half a character, wherever it cuts', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 20 });
    fc.assert(
      fc.property(text, fc.integer({ min: -25, max: 25 }), fc.integer({ min: 0, max: 25 }), (x, begin, length) => {
        const values = { x, begin, length };
        const whole = render('{{ x | slice: 0, length }}{{ x | slice: length, 99 }}', values, { escapes: false });
        expect(whole).toBe(x);
        expect(render('{{ x | slice: begin, length }}{{ x | truncate: length }}', values).isWellFormed()).toBe(true);
      }),
    );
  });

  test('cuts long text without reading all of it, and ends if that uses too much memory', () => {
    const x = `ü${'ab '.repeat(300_000)}`;
    expect(render('{{ x | truncate: 5 }}', { x })).toBe('üa...');
    expect(render('{{ x | slice: 1, 2 }}{{ x | first }}', { x })).toBe('abü');
    expect(() => render('{{ x | slice: -1 }}', { x })).toThrow('it takes too much memory');
    expect(() => render('{{ x | slice: 0, 500000 }}', { x })).toThrow('it takes too much memory');
    expect(() => render('{{ x | replace: "", x }}', { x })).toThrow('it takes too much memory');
  });

  test.each([
    ['{% cycle x, "b" %}{% cycle x, "b" %}{% cycle x, "b" %}', 'a &amp; &lt;b&gt;ba &amp; &lt;b&gt;'],
    ['{% cycle x | escape %}', 'a &amp; &lt;b&gt;'],
    ['{% cycle x | newline_to_br %}', 'a &amp; &lt;b&gt;'],
    ['{% capture y %}<i>{{ x }}</i>{% endcapture %}{% cycle y %}', '<i>a &amp; &lt;b&gt;</i>'],
    ['{% cycle x | raw %}{% cycle x | escape | raw %}', 'a & <b>a &amp; &lt;b&gt;'],
    ['{% cycle "g": 1, 2 %}{% cycle "h": 1, 2 %}{% cycle "g": 1, 2 %}{% cycle 1, 2 %}', '1121'],
    ['{% cycle missing %}{% cycle list %}', '12'],
  ])('cycles through values that are escaped once: %s', (source, expected) => {
    expect(render(source, { x: 'a & <b>', list: [1, 2] })).toBe(expected);
  });

  test('names its variables with the place of their first use', () => {
    expect(checkLiquid('Hello {{ user.name }}\n{% assign x = other %}{{ x }}{{ user.id }}').uses).toEqual([
      { name: 'user', line: 1, column: 10 },
      { name: 'other', line: 2, column: 15 },
    ]);
  });

  test.each([
    ['{{ name', 1],
    ['\n{% if a %}', 2],
    ['{{ a | strip_html }}', 1],
    ['{% include "x" %}', 1],
    ['{% render "/etc/passwd" %}', 1],
    ['{% layout "x" %}', 1],
    ['{% tablerow a in b %}{% endtablerow %}', 1],
  ])('with an error is reported with its line: %j', (source, line) => {
    expect(checkLiquid(source).problem).toMatchObject({ line, sentence: expect.stringMatching(/\w/) });
    expect(() => render(source)).toThrow(TemplateFailed);
  });
});

describe('a hostile template', () => {
  const list = Array.from({ length: 5_000 }, (_, index) => String((index * 7919) % 1000));
  const HOSTILE: readonly (readonly [string, string, object])[] = [
    ['a loop without an end', '{% for i in (1..100000000) %}x{% endfor %}', {}],
    ['an empty loop', '{% for i in (1..900000) %}{% endfor %}', {}],
    ['loops in loops', '{% for i in (1..3000) %}{% for j in (1..3000) %}{% endfor %}{% endfor %}', {}],
    ['an output of 100 MB', '{% for i in (1..2000) %}{{ a }}{% endfor %}', { a: 'x'.repeat(50_000) }],
    ['a value that doubles', `{% assign b = a %}${'{% assign b = b | append: b %}'.repeat(30)}{{ b }}`, { a: 'a' }],
    ['a list that doubles', `{% assign b = a %}${'{% assign b = b | concat: b %}'.repeat(30)}{{ b }}`, { a: [1] }],
    ['a replacement that grows', `{{ a | replace: "a", "${'b'.repeat(10_000)}" }}`, { a: 'a'.repeat(50_000) }],
    ['10,000 nested tags', '{% if a %}'.repeat(10_000) + '{% endif %}'.repeat(10_000), { a: 1 }],
    ['a long path', `{{ ${'a.'.repeat(90_000)}a }}`, { a: {} }],
    ['brackets in brackets', `{{ ${'['.repeat(100_000)}a }}`, {}],
    ['many filters', `{{ a ${'| append: "x" '.repeat(13_000)}}}`, { a: '' }],
    ['sorting in a loop', '{% for i in (1..1000) %}{{ a | sort | join }}{% endfor %}', { a: list }],
    ['a list that is joined again and again', '{% for i in (1..1000) %}{{ a | join }}{% endfor %}', { a: list }],
  ];

  test.each(HOSTILE)('%s ends soon, with a sentence', (_, source, values) => {
    const attempt = () => render(source, values, { charactersMax: 100_000 });
    expect(processorMs(() => expect(attempt).toThrow(TemplateFailed))).toBeLessThan(1_000);
  });

  test.each(['__proto__', 'constructor', 'toString', 'a.__proto__', 'a.constructor', 'list.constructor'])(
    'sees nothing of %s',
    (path) => {
      expect(render(`[{{ ${path} }}]`, { a: {}, list: [1] })).toBe('[]');
    },
  );

  test('changes nothing outside of itself', () => {
    render('{% assign x = 1 %}{% capture __proto__ %}y{% endcapture %}', { a: {} });
    expect(render('{{ x }}{{ y }}')).toBe('');
    expect(({} as { y?: unknown }).y).toBeUndefined();
  });
});

test('renderings share a turn of the event loop until they have used their time', async () => {
  const fresh = createLiquidRenderer();
  fresh.render('{{ a }}', { a: 1 }, OPTIONS);
  await new Promise((resolve) => setImmediate(resolve));
  expect(fresh.isTurnOver()).toBe(false);
  expect(() => fresh.render('{% for i in (1..900000) %}{% endfor %}', {}, OPTIONS)).toThrow('takes longer');
  expect(fresh.isTurnOver()).toBe(true);
  await new Promise((resolve) => setImmediate(resolve));
  expect(fresh.isTurnOver()).toBe(false);
});

test('a source with an error is refused as soon as it is parsed', () => {
  expect(() => renderer.prepare('{{ a', { escapes: true })).toThrow(TemplateFailed);
  expect(() => renderer.prepare('{{ a }}', { escapes: true })).not.toThrow();
});
