import { describe, expect, test } from 'vitest';
import { plot } from '../../src/cli/customer/stats.ts';
import { fieldLines, printable, printableJson, printableLine, progressLine, table } from '../../src/cli/terminal.ts';

/** Every character that a terminal may interpret: C0, C1, direction, separators, invisible tags. */
const HOSTILE = [
  ...Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code)),
  ...Array.from({ length: 0x21 }, (_, code) => String.fromCharCode(0x7f + code)),
  '\u200e\u200f\u202a\u202e\u2066\u2069\u061c\u2028\u2029\ufeff\u{e0041}',
].join('');

describe('text from others', () => {
  test('keeps no control sequences except line ends and tabs', () => {
    expect(printable(HOSTILE)).not.toMatch(/(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(printableLine(`a${HOSTILE}b`)).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(printable('\u001b[31mred\u202e')).toBe('\\u001b[31mred\\u202e');
  });

  test('is unchanged if it is harmless', () => {
    const text = 'Zażółć gęślą jaźń – 日本語 👩‍💻\n\tend';
    expect(printable(text)).toBe(text);
    expect(printable('a\r\nb')).toBe('a\nb');
  });

  test('means the same as JSON', () => {
    const json = printableJson({ subject: HOSTILE });
    expect(json).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(JSON.parse(json)).toEqual({ subject: HOSTILE });
  });

  test('stays within its table cell, and the table within its width', () => {
    const drawn = table(
      ['ID', 'SUBJECT'],
      [
        ['1', `a\nb\t${'x'.repeat(500)}`],
        ['22', null],
      ],
      40,
    );
    expect(drawn.split('\n')).toEqual(['ID  SUBJECT', `1   a b ${'x'.repeat(29)}...`, '22  -']);
  });
});

describe('a result', () => {
  test('has a line for each field, and one for each sentence or object in a list', () => {
    const result = {
      id: 'key_1',
      permissions: ['send', 'read'],
      limits: { send: 100, read: null },
      allowed_cidrs: [],
      expires_at: null,
      count: 0,
      verified: false,
      problems: ['no mail leaves', 'set MAIL_URL'],
      records: [{ type: 'TXT', name: 'a.test', required: true }],
    };
    expect(fieldLines(result).split('\n')).toEqual([
      'id: key_1',
      'permissions: send, read',
      'limits: send 100, read -',
      'allowed_cidrs: -',
      'expires_at: -',
      'count: 0',
      'verified: false',
      'problems:',
      '  no mail leaves',
      '  set MAIL_URL',
      'records:',
      '  type TXT, name a.test, required true',
    ]);
  });
});

describe('a plot', () => {
  const ends = ['2031-01-01', '2031-01-31'] as const;

  test.each([
    [30, 31],
    [40, 1],
    [80, 31],
    [80, 2_000],
    [200, 5],
    [12, 2_000],
  ])('stays within %i columns with %i buckets', (columns, buckets) => {
    const values = Array.from({ length: buckets }, (_, at) => at * 1_234);
    for (const unicode of [true, false]) {
      const drawn = plot(values, { columns, unicode, ends });
      expect(Math.max(...drawn.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns);
      expect(drawn.split('\n')).toHaveLength(values.some((value) => value > 0) ? 9 : 2);
    }
  });

  test('is ASCII where other characters cannot be shown, and omits no bar', () => {
    const drawn = plot([0, 1, 1_000_000], { columns: 60, unicode: false, ends });
    expect(drawn).toMatch(/^[\u0020-\u007e\n]+$/);
    const bottom = drawn.split('\n').at(-2) ?? '';
    expect(bottom.match(/#+/g)).toHaveLength(2);
    expect(plot([0, 0], { columns: 60, unicode: true, ends })).toBe(`    0 │\n       2031-01-01 2031-01-31`);
    expect(plot([], { columns: 60, unicode: true, ends: ['', ''] })).toContain('    0 │');
  });

  test('sums neighbouring buckets if there are more than columns', () => {
    expect(
      plot(
        Array.from({ length: 100 }, () => 1),
        { columns: 14, unicode: true, ends },
      ),
    ).toMatch(/^ +15 │/);
  });
});

describe('a progress bar', () => {
  test('shows its progress within the width', () => {
    const options = { columns: 100, unicode: true };
    expect(progressLine('copy', { done: 1_200, of: 10_000, unit: 'events' }, options)).toBe(
      `copy ███${'░'.repeat(21)}  12% 1,200 of 10,000 events`,
    );
    expect(progressLine('copy', { done: 5, of: 4, unit: 'events' }, { ...options, unicode: false })).toBe(
      `copy ${'#'.repeat(24)} 100% 5 of 5 events`,
    );
    expect(progressLine('copy', { done: 5, of: undefined, unit: 'rows' }, options)).toBe('copy 5 rows');
    expect(progressLine('copy', { done: 5, of: 10, unit: 'rows' }, { columns: 20, unicode: true })).toHaveLength(19);
  });
});
