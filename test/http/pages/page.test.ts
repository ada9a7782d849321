import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LOCALES, localeFor } from '../../../src/http/pages/languages.ts';
import { contrast, textColorOn } from '../../../src/http/pages/page.ts';

const color = fc.nat({ max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, '0')}`);

describe('the text of a button', () => {
  test('can be read on any colour of the sender: at least 4.5 to 1', () => {
    fc.assert(
      fc.property(color, (one) => {
        expect(contrast(one, textColorOn(one))).toBeGreaterThanOrEqual(4.5);
      }),
    );
  });

  test('is white on dark colours and black on light ones', () => {
    expect(['#1a56b0', '#000000', '#ffff00', '#ffffff'].map(textColorOn)).toEqual([
      '#ffffff',
      '#ffffff',
      '#000000',
      '#000000',
    ]);
    expect(contrast('#000000', '#ffffff')).toBeCloseTo(21);
  });
});

describe('the sentences of every language', () => {
  const [english, ...others] = LOCALES;
  const blanks = (sentence: string) => [...new Set(sentence.match(/\{\w+\}/g) ?? [])].sort();

  test.each(others)('of $tag have the blanks of the English ones, and differ from them', ({ say }) => {
    for (const [name, sentence] of Object.entries(english?.say ?? {})) {
      const other = Object.entries(say).find(([key]) => key === name)?.[1] ?? '';
      expect([name, blanks(other)]).toEqual([name, blanks(sentence)]);
      expect(other).not.toBe(sentence);
    }
  });

  /** Straight quotes and apostrophes, three full stops, and mistakes specific to one language. */
  const WRONG = /["']|\.\.\./;
  const WRONG_IN: Readonly<Record<string, RegExp>> = {
    en: /[„«»]/,
    // German uses the formal address: no du, dich or dein.
    de: /”|“[^„“]*“|\b(?:[Dd]u|[Dd]ich|[Dd]ein)\b/,
    // French needs no-break spaces next to its punctuation marks, and the formal address: no tu, te or ton.
    fr: / [?!;:»]|« |[“”]|(?<!\p{L})(?:[Tt]u|[Tt]on|[Tt]es)(?!\p{L})/u,
    es: /[“”„]|(?<!\p{L})(?:[Tt]ú|[Tt]us?|[Tt]e)(?!\p{L})/u,
    // Half-width punctuation, or a space after a full-width mark.
    ja: /[,.?!:“”]|[、。？] /,
  };

  test.each(LOCALES)('of $tag have its quotes and spaces, and address the reader formally', ({ tag, say }) => {
    for (const sentence of Object.values(say)) {
      expect(sentence).not.toMatch(WRONG);
      expect(sentence).not.toMatch(WRONG_IN[tag] ?? /^$/);
    }
  });

  test.each([
    [undefined, 'en'],
    ['', 'en'],
    ['*', 'en'],
    ['pt-BR, it;q=0.9', 'en'],
    ['de-CH-1996', 'de'],
    ['deu', 'en'],
    ['it, es;q=0.2, ja;q=0.5', 'ja'],
    ['fr;q=0', 'en'],
    ['q=1;;,,\0', 'en'],
  ])('are chosen by Accept-Language %j: %s', (header, tag) => {
    expect(localeFor(header).tag).toBe(tag);
  });
});
