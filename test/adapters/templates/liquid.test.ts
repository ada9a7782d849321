import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLiquidRenderer } from '../../../src/adapters/templates/liquid.ts';
import { OUTPUT_END, OUTPUT_START, TemplateFailed } from '../../../src/domain/ports/template-renderer.ts';
import { readMarks } from '../../../src/domain/template/render-template.ts';
import { slowness } from '../../support/slowness.ts';

const renderer = createLiquidRenderer();
const OPTIONS = { locale: 'en', escapes: true, charactersMax: 1_000_000 };
const marked = (source: string, values: object = {}, more: Partial<typeof OPTIONS> = {}): string =>
  renderer.render(source, { ...values }, { ...OPTIONS, ...more });
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

  test('compares what it has captured as it was written', () => {
    const source = '{% capture who %}{{ name }}{% endcapture %}{% if who == "Ann" %}yes{% endif %}';
    expect(marked(source, { name: 'Ann' })).toBe('yes');
  });

  test('escapes any value whatever filters it went through', () => {
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

  test('names its variables with the place of their first use', () => {
    expect(renderer.check('Hello {{ user.name }}\n{% assign x = other %}{{ x }}{{ user.id }}').uses).toEqual([
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
  ])('that is wrong is told with its line: %j', (source, line) => {
    expect(renderer.check(source).problem).toMatchObject({ line, sentence: expect.stringMatching(/\w/) });
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
    const began = performance.now();
    expect(() => render(source, values, { charactersMax: 100_000 })).toThrow(TemplateFailed);
    expect(performance.now() - began).toBeLessThan(500 * slowness());
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
