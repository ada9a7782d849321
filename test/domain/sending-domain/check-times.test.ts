import { describe, expect, test } from 'vitest';
import type { SendingDomainEvent } from '../../../src/domain/kernel/events.ts';
import { nextCheckMs } from '../../../src/domain/sending-domain/domain-records.ts';
import { activated, added, after, degraded, domainAfter, failed, registered, verified } from './checked-domain.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const SOUND = [registered, verified, activated(['r1'])];

/** All check times up to the first after `untilMs`, in milliseconds since the events. */
const timesOf = (events: readonly SendingDomainEvent[], untilMs: number): readonly number[] => {
  const domain = domainAfter(events);
  const startMs = Date.parse(after(0));
  const times: number[] = [];
  for (let at = nextCheckMs(domain, startMs); at !== null && at - startMs <= untilMs; at = nextCheckMs(domain, at)) {
    expect(at - startMs).toBeGreaterThan(times.at(-1) ?? 0);
    times.push(at - startMs);
  }
  return times;
};

describe('an awaited domain', () => {
  test.each([
    ['pending', [registered]],
    ['failed', [...SOUND, degraded(after(0)), failed]],
  ])('is checked soon, then every hour for two weeks: %s', (_life, events) => {
    const times = timesOf(events, 100 * DAY_MS);
    expect(times.slice(0, 6).map((ms) => ms / MINUTE_MS)).toEqual([1, 3, 8, 23, 83, 143]);
    expect(times).toHaveLength(4 + 14 * 24 - 1);
    expect(times.at(-1)).toBeLessThanOrEqual(14 * DAY_MS);
  });
});

describe('a verified domain', () => {
  test('is checked every six hours', () => {
    const times = timesOf(SOUND, 2 * DAY_MS);
    expect(times).toHaveLength(8);
    expect(new Set(times.slice(1).map((ms, index) => ms - (times[index] ?? 0)))).toEqual(new Set([6 * HOUR_MS]));
  });
  test('with new keys is also checked as if it were pending', () => {
    const times = timesOf([...SOUND, added(2)], 100 * DAY_MS).map((ms) => ms / MINUTE_MS);
    expect(times).toEqual(expect.arrayContaining([1, 3, 8, 23, 83]));
    expect(times.length).toBeGreaterThan(14 * 24 + 80 * 4);
  });
  test('is checked at another moment than others', () => {
    const domain = domainAfter(SOUND);
    const turns = Array.from(
      { length: 100 },
      (_, index) => nextCheckMs({ ...domain, domainId: `dom_${index}` }, 0) ?? 0,
    );
    expect(Math.max(...turns)).toBeLessThanOrEqual(6 * HOUR_MS);
    expect(new Set(turns.map((ms) => Math.floor(ms / HOUR_MS))).size).toBe(6);
  });
});

test('a degraded domain is checked every quarter of an hour', () => {
  const times = timesOf([...SOUND, degraded(after(72 * HOUR_MS))], HOUR_MS);
  expect(times).toHaveLength(4);
});

test('a deleted domain is never checked', () => {
  const deleted: SendingDomainEvent = { type: 'DomainDeleted', data: { domainId: 'dom_1', name: 'example.test' } };
  expect(nextCheckMs(domainAfter([...SOUND, deleted]), 0)).toBeNull();
});
