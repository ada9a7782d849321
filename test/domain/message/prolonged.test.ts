import { describe, expect, test } from 'vitest';
import { prolonged } from '../../../src/domain/message/prolonged.ts';
import { NOW } from '../../support/specification.ts';

const inDays = (days: number): string => new Date(Date.parse(NOW) + days * 86_400_000).toISOString();
const DAY_SECONDS = 86_400;

describe('a time to live that does not run while the message waits', () => {
  test('ends later by the wait, each time again', () => {
    const message = { acceptedAt: NOW, schedule: null, expiresAt: inDays(3) };
    expect(prolonged(message, 2 * DAY_SECONDS)).toBe(inDays(5));
    expect(prolonged({ ...message, expiresAt: inDays(5) }, DAY_SECONDS)).toBe(inDays(6));
  });

  test('ends in time where it is shorter than the default, counted from when the message was to be sent', () => {
    expect(prolonged({ acceptedAt: NOW, schedule: null, expiresAt: inDays(2.999) }, DAY_SECONDS)).toBe(inDays(2.999));
    const schedule = { first: inDays(1), current: inDays(10) };
    expect(prolonged({ acceptedAt: NOW, schedule, expiresAt: inDays(12) }, DAY_SECONDS)).toBe(inDays(12));
    expect(prolonged({ acceptedAt: NOW, schedule, expiresAt: inDays(13) }, DAY_SECONDS)).toBe(inDays(14));
  });
});
