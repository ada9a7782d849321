import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { htmlToText } from '../../../src/lib/html/html-to-text.ts';
import { ADVERSARIAL_HTML } from '../../support/adversarial-html.ts';

/** The documented limit for a megabyte. An idle machine needs a fifth of it. */
const CONVERSION_MS_MAX = 1_000;
/** A rule has the largest output per character: forty characters for `<hr>x`, and blank lines around it. */
const GROWTH_MAX = 10;
const LINE_CHARACTERS = 78;
const MEGABYTE = 1_000_000;
const MICROSECONDS = 1000;

const repeated = (unit: string): string => unit.repeat(MEGABYTE / unit.length);

const HOSTILE_HTML: Readonly<Record<string, string>> = {
  ...ADVERSARIAL_HTML,
  'a million line breaks': '<br>'.repeat(MEGABYTE),
  'an endless word': repeated('a'),
  spaces: repeated(' '),
  'preformatted spaces': `<pre>${repeated(' ')}`,
  'preformatted empty lines': `<pre>${repeated('x\n\n\n')}`,
  'NUL characters': repeated('\0'),
  'joiners without a word': repeated('&zwnj;'),
  rules: repeated('<hr>x'),
  'quotes in quotes': repeated('<blockquote>x'),
  'lists in lists': repeated('<ul><li>x'),
  'an endless row': `<table><tr>${repeated('<td>some words and')}`,
  'hidden elements in hidden ones': `${'<b hidden>'.repeat(50_000)}${'</i>'.repeat(100_000)}`,
  'ends that are looked for through cells': `${'<table><td>'.repeat(50_000)}${'</div>'.repeat(80_000)}`,
  'items in cells of items': `${'<ol><li><table><td>'.repeat(30_000)}${'<li>'.repeat(100_000)}`,
  'an endless style': `<p style="${repeated('display ')}">x`,
  'an endless address': `<a href="${repeated('x ')}">y</a>`,
};

const cpuMs = (work: () => unknown): number => {
  const begun = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(begun);
  return (user + system) / MICROSECONDS;
};

describe('any body', () => {
  test.each(Object.entries(HOSTILE_HTML))('of %s is converted in time, to a text of limited length', (_what, html) => {
    let text = '';
    expect(cpuMs(() => (text = htmlToText(html)))).toBeLessThan(CONVERSION_MS_MAX);
    expect(text.length).toBeLessThan(html.length * GROWTH_MAX);
  });

  test('takes time linear in its size', () => {
    const rows = (count: number) =>
      `<table>${'<tr><td>One pair of <b>shoes</b></td><td>59.90</td></tr>'.repeat(count)}`;
    const [small, large] = [rows(200), rows(20_000)];
    for (let count = 0; count < 50; count += 1) htmlToText(small); // compiles the code
    const smallMs = cpuMs(() => {
      for (let count = 0; count < 100; count += 1) htmlToText(small);
    });
    expect(cpuMs(() => htmlToText(large)) / smallMs).toBeLessThan(5);
  });
});

const TAGS = 'p div table tr td th li ul ol blockquote h1 b span a br hr img dd dl center style title x'.split(' ');
const tag = fc.constantFrom(...TAGS);
const attribute = fc.constantFrom(
  '',
  ' hidden',
  ' style="display:none"',
  ' href="/x y"',
  ' alt="a b"',
  ' start=7',
  '/',
);
const markup = fc.oneof(
  fc.tuple(tag, attribute).map(([name, given]) => `<${name}${given}>`),
  tag.map((name) => `</${name}>`),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.constantFrom(' ', '&nbsp;', '\0', '\r\n', '&zwnj;', '&#xd;', '<!--', '-->', 'word '.repeat(30), '&rlm;', '\u00ad'),
);
const anyHtml = fc.oneof(
  fc.string(),
  fc.array(markup, { maxLength: 60 }).map((parts) => parts.join('')),
);

const MARKS = /^(?:[>*] |\d+\. | )+/;
const isOneWord = (line: string): boolean => !line.replace(MARKS, '').includes(' ');

describe('any html', () => {
  test('becomes lines that fit, without spaces at their ends, and no two empty ones in a row', () => {
    fc.assert(
      fc.property(anyHtml, (html) => {
        const text = htmlToText(html);
        for (const line of text.split('\n')) {
          expect(line).not.toMatch(/\s$/);
          expect(line.length <= LINE_CHARACTERS || isOneWord(line)).toBe(true);
        }
        expect(text).not.toMatch(/\n\n\n|^\n|\n$/);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
        expect(text).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f]/);
      }),
      { numRuns: 2000 },
    );
  });

  test('keeps every visible word, in order', () => {
    const word = fc.stringMatching(/^[a-z]{1,12}$/);
    const shown = fc.constantFrom(
      'p',
      'div',
      'td',
      'tr',
      'table',
      'li',
      'ul',
      'span',
      'h2',
      'blockquote',
      'center',
      'b',
    );
    const { document } = fc.letrec<{ document: string }>((tie) => ({
      document: fc.oneof(
        { maxDepth: 6 },
        word,
        fc.array(word, { maxLength: 30 }).map((words) => words.join(' ')),
        fc
          .tuple(shown, fc.array(tie('document'), { maxLength: 4 }))
          .map(([name, parts]) => `<${name}>${parts.join(' ')}</${name}>`),
      ),
    }));
    fc.assert(
      fc.property(document, (html) => {
        const words = (text: string): string[] => text.match(/[a-z]+/g) ?? [];
        expect(words(htmlToText(html))).toEqual(words(html.replace(/<[^>]*>/g, ' ')));
      }),
      { numRuns: 1000 },
    );
  });
});
