import { describe, expect, test } from 'vitest';
import { DomainError } from '../../../src/domain/kernel/errors.ts';
import { requireSchedulable, SCHEDULE_DAYS_MAX } from '../../../src/domain/message/accept-message.ts';
import { NOW } from '../../support/specification.ts';

const inMs = (ms: number): string => new Date(Date.parse(NOW) + ms).toISOString();
const LONGEST_MS = SCHEDULE_DAYS_MAX * 86_400_000;

const refusalOf = (scheduledAt: string): unknown => {
  try {
    requireSchedulable(scheduledAt, NOW);
    return null;
  } catch (error) {
    return error;
  }
};

describe('a time to send at', () => {
  test.each([1, 1000, LONGEST_MS])('%i ms ahead is accepted', (ms) => {
    expect(refusalOf(inMs(ms))).toBeNull();
  });
  test.each([
    [0, 'scheduled_at must be in the future'],
    [-1, 'scheduled_at must be in the future'],
    [LONGEST_MS + 1, 'scheduled_at must be at most 30 days ahead'],
  ])('%i ms ahead is refused, naming the field', (ms, problem) => {
    const refusal = refusalOf(inMs(ms));
    expect(refusal).toBeInstanceOf(DomainError);
    expect(refusal).toMatchObject({ code: 'schedule_not_possible', details: { scheduled_at: [problem] } });
  });
});
