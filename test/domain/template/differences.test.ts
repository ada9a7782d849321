import { describe, expect, test } from 'vitest';
import { differencesOf } from '../../../src/domain/template/differences.ts';
import { atOnce } from '../../../src/lib/async/async.ts';

const changesOf = (from: string, to: string) => atOnce(differencesOf({ text: from }, { text: to }))[0]?.lines;

const numbered = (count: number, prefix = ''): string =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`).join('\n');

describe('the differences of two contents', () => {
  test('are the changed lines, with three around each', () => {
    expect(
      changesOf(numbered(12), numbered(12).replace('\n6\n', '\nsix\n'))?.map(({ kind, text }) => [kind, text]),
    ).toEqual([
      ...[
        ['same', '3'],
        ['same', '4'],
        ['same', '5'],
      ],
      ...[
        ['removed', '6'],
        ['added', 'six'],
      ],
      ...[
        ['same', '7'],
        ['same', '8'],
        ['same', '9'],
      ],
    ]);
    expect(changesOf('a\nb', 'a\nb\nc')?.map(({ kind, text }) => [kind, text])).toEqual([
      ['same', 'a'],
      ['same', 'b'],
      ['added', 'c'],
    ]);
  });

  test('have no lines for a text of one line, or if too many lines differ', () => {
    expect(changesOf('a', 'b')).toBeNull();
    expect(changesOf(numbered(100_000), numbered(100_000, 'x'))).toBeNull();
  });

  test('in one line among many are only the lines around it', () => {
    const before = numbered(199_000);
    expect(changesOf(before, before.replace('\n1000\n', '\nx\n'))).toHaveLength(8);
  });

  test('are found with pauses, however much differs', () => {
    const work = differencesOf({ text: numbered(1_900), html: 'a\nb' }, { text: numbered(1_900, 'x'), html: 'a' });
    let pauses = 0;
    while (work.next().done !== true) pauses += 1;
    expect(pauses).toBeGreaterThan(8);
  });
});
