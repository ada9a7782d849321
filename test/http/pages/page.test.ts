import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LOCALES } from '../../../src/http/pages/languages.ts';
import { contrast, textColorOn } from '../../../src/http/pages/page.ts';

const color = fc.nat({ max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, '0')}`);

describe('the text of a button', () => {
  test('can be read on any colour of the sender: at least 4.5 to 1', () => {
    fc.assert(fc.property(color, (one) => contrast(one, textColorOn(one)) >= 4.5));
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

  test.each(others)('of $tag have the blanks of the English ones, and say something of their own', ({ say }) => {
    for (const [name, sentence] of Object.entries(english?.say ?? {})) {
      const other = Object.entries(say).find(([key]) => key === name)?.[1] ?? '';
      expect([name, blanks(other)]).toEqual([name, blanks(sentence)]);
      expect(other).not.toBe(sentence);
    }
  });
});
