import { expect, test } from 'vitest';
import { covers } from '../../../src/domain/kernel/addresses.ts';
import { processorMs } from '../../support/processor-time.ts';

test.each<[readonly string[], readonly string[], boolean]>([
  [[], [], true],
  [[], ['192.0.2.0/24'], true],
  [['192.0.2.0/24'], [], false],
  [['192.0.2.0/24'], ['192.0.2.0/24'], true],
  [['192.0.2.0/24'], ['192.0.2.128/25', '192.0.2.7'], true],
  [['192.0.2.0/24'], ['192.0.2.7', '198.51.100.1'], false],
  [['192.0.2.0/24'], ['192.0.0.0/16'], false],
  [['192.0.2.0/24'], ['0.0.0.0/0'], false],
  [['192.0.2.0/25', '192.0.2.128/25'], ['192.0.2.0/24'], true],
  [['192.0.2.128/25', '192.0.2.0/25'], ['192.0.2.0/24'], true],
  [['192.0.2.0/25', '192.0.2.129'], ['192.0.2.0/24'], false],
  [['0.0.0.0/0'], ['203.0.113.9'], true],
  [['0.0.0.0/0'], ['2001:db8::1'], false],
  [['::/0'], ['192.0.2.1'], false],
  [['2001:db8::/32'], ['2001:db8:1::/48'], true],
  [['2001:db8:1::/48'], ['2001:db8::/32'], false],
  [['192.0.2.0/24'], ['::ffff:192.0.2.7'], true],
  [['::ffff:192.0.2.0/120'], ['192.0.2.7'], true],
])('networks %j cover %j: %s', (outer, inner, expected) => {
  expect(covers(outer, inner)).toBe(expected);
});

test('a hundred networks are compared with a hundred in milliseconds', () => {
  const many = (offset: number) => Array.from({ length: 100 }, (_, index) => `10.${index}.${offset}.0/24`);
  const tookMs = processorMs(() => {
    for (let turn = 0; turn < 10; turn += 1) expect(covers(many(1), many(2))).toBe(false);
  });
  expect(tookMs).toBeLessThan(500);
});
