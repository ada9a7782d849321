import { describe, expect, test } from 'vitest';
import { dateIn } from '../../../src/dashboard/data/date-in.ts';

const now = Date.parse('2026-11-28T14:05:09.000Z');
const read = (text: string, hasTime = true) => dateIn(text, { isUtc: true, hasTime, now });

describe('a typed date', () => {
  test.each([
    ['28 Nov 2026, 14:05', '2026-11-28T14:05:00.000Z'],
    ['28 november 2026 14:05:06', '2026-11-28T14:05:06.000Z'],
    ['1. Feb', '2026-02-01T00:00:00.000Z'],
    ['2026-11-08', '2026-11-08T00:00:00.000Z'],
    ['2026-11-08T09:30', '2026-11-08T09:30:00.000Z'],
    [' 3d ', '2026-11-25T14:05:09.000Z'],
    ['2 hours ago', '2026-11-28T12:05:09.000Z'],
    ['90m', '2026-11-28T12:35:09.000Z'],
    ['5 min ago', '2026-11-28T14:00:09.000Z'],
    ['today', '2026-11-28T00:00:00.000Z'],
    ['yesterday', '2026-11-27T00:00:00.000Z'],
    ['2026-11-28T09:30:00Z', '2026-11-28T09:30:00.000Z'],
    ['2026-11-28t09:30:00.5+02:00', '2026-11-28T07:30:00.500Z'],
    ['now', '2026-11-28T14:05:09.000Z'],
  ])('%j is %s', (text, at) => {
    expect(read(text)).toBe(at);
  });

  test.each([
    '',
    'soon',
    '31 Feb 2026',
    '2026-13-01',
    '2026-02-30',
    '2026-11-28T25:00:00Z',
    '28 Nov 2026, 25:00',
    '11/28/2026',
    '9'.repeat(500),
  ])('%j is not a date', (text) => {
    expect(read(text)).toBeNull();
  });

  test('without a time of day is the start of the day', () => {
    expect(read('yesterday', false)).toBe('2026-11-27T00:00:00.000Z');
    expect(read('28 Nov 2026, 14:05', false)).toBe('2026-11-28T00:00:00.000Z');
  });

  test('is read in the time zone of the browser unless UTC is shown', () => {
    const local = dateIn('28 Nov 2026, 14:05', { isUtc: false, hasTime: true, now });
    expect(local).toBe(new Date(2026, 10, 28, 14, 5).toISOString());
  });
});
