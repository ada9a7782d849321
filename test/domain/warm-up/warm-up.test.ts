import { describe, expect, test } from 'vitest';
import {
  DEFAULT_PLAN,
  endWarmUp,
  lastDayOf,
  plannedDay,
  startWarmUp,
  type WarmUpEvent,
  warmUp,
} from '../../../src/domain/warm-up/warm-up.ts';
import { specify } from '../../support/specification.ts';

const { given } = specify(warmUp);
const TODAY = '2026-11-22';

const started = (startsOn: string, plan: number[]): WarmUpEvent => ({
  type: 'WarmUpStarted',
  data: { domainId: 'dom_1', startsOn, plan },
});
const start = (caps: readonly number[]) => ({ domainId: 'dom_1', caps, today: TODAY });

describe('a warm-up', () => {
  test('begins today, and replaces another plan and one that is over', () => {
    for (const earlier of [[], [started('2026-11-20', [1, 2, 3, 4])], [started('2026-11-01', [5, 6])]]) {
      given(earlier)
        .when((state) => startWarmUp(state, start([5, 6])))
        .thenEvents(started(TODAY, [5, 6]));
    }
  });

  test('continues where it is when it is started again while it runs', () => {
    given([started('2026-11-21', [5, 6])])
      .when((state) => startWarmUp(state, start([5, 6])))
      .thenNothing();
  });

  test('ends once, and not when it is over', () => {
    const end = { domainId: 'dom_1', today: TODAY };
    given([started('2026-11-21', [5, 6])])
      .when((state) => endWarmUp(state, end))
      .thenEvents({ type: 'WarmUpEnded', data: { domainId: 'dom_1' } });
    const ended: WarmUpEvent = { type: 'WarmUpEnded', data: { domainId: 'dom_1' } };
    for (const events of [[], [started('2026-11-20', [5, 6])], [started('2026-11-21', [5, 6]), ended]]) {
      given(events)
        .when((state) => endWarmUp(state, end))
        .thenNothing();
    }
  });

  test('has a share for each of its days, over months and leap days, and none after', () => {
    const plan = { startsOn: '2028-02-28', caps: [10, 20, 40] };
    expect(['2028-02-28', '2028-02-29', '2028-03-01', '2028-03-02'].map((day) => plannedDay(plan, day))).toEqual([
      { number: 1, cap: 10 },
      { number: 2, cap: 20 },
      { number: 3, cap: 40 },
      null,
    ]);
    expect(lastDayOf(plan)).toBe('2028-03-01');
    expect(plannedDay(plan, '2028-02-27')).toEqual({ number: 1, cap: 10 });
  });

  test('by default doubles from day to day', () => {
    for (const [index, cap] of DEFAULT_PLAN.entries()) expect(cap).toBe(50 * 2 ** index);
  });
});
