import { expect, test } from 'vitest';
import { positionBefore } from '../../../src/projections/events/queries.ts';

test.each([
  ['0000000000001840', '0000000000001839'],
  ['0000000000000001', '0000000000000000'],
  ['1000000000000000', '0999999999999999'],
  ['0000000000000000', ''],
  ['000000000000ab3a000000000000ab3a', '000000000000ab3a000000000000ab39'],
  ['000000000000a000000000000000a000', '000000000000a0000000000000009fff'],
])('the position before %s is %s, on every engine', (position, before) => {
  expect(positionBefore(position)).toBe(before);
  expect(before < position).toBe(true);
});
