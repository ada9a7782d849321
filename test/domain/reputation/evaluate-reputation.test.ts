import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  countedFrom,
  evaluateReputation,
  GOOD_REPUTATION,
  NO_COUNTS,
  REPUTATION_LEVELS,
  type Reputation,
  type ReputationCounts,
  type ReputationLimits,
  readLimits,
  releaseSending,
  reputation,
} from '../../../src/domain/reputation/reputation.ts';
import { contextAt, NOW, specify } from '../../support/specification.ts';

const DOMAIN = { domainId: 'dom_1', organizationId: 'org_1' };
const LIMITS: ReputationLimits = { bounces: [2, 4, 5], complaints: [0.08, 0.2, 0.3] };

const counts = (delivered: number, bounced: number, complained = 0, releasedAt: string | null = null) => ({
  delivered,
  bounced,
  complained,
  releasedAt,
});

const judge =
  (found: ReputationCounts, limits = LIMITS) =>
  (state: Reputation) =>
    evaluateReputation(state, { domainId: 'dom_1', organizationId: 'org_1', counts: found, limits });

/** The reputation after it has been evaluated with each of these counts. */
const after = (state: Reputation, found: readonly ReputationCounts[], limits = LIMITS): Reputation =>
  found.reduce(
    (before, each) =>
      judge(each, limits)(before).reduce((is, event) => reputation.evolve(is, event, contextAt(NOW)), before),
    state,
  );

const levelAfter = (...found: readonly ReputationCounts[]): string => after(GOOD_REPUTATION, found).level;

describe('a domain', () => {
  test.each([
    [981, 19, 0, 'good'],
    [980, 20, 0, 'warned'],
    [961, 39, 0, 'warned'],
    [960, 40, 0, 'slowed'],
    [950, 50, 0, 'paused'],
    [0, 1000, 0, 'paused'],
    [10_000, 0, 7, 'good'],
    [10_000, 0, 8, 'warned'],
    [10_000, 0, 20, 'slowed'],
    [10_000, 0, 30, 'paused'],
    [9800, 200, 30, 'paused'],
  ])('with %i delivered, %i bounced and %i complaints is %s', (delivered, bounced, complained, level) => {
    expect(levelAfter(counts(delivered, bounced, complained))).toBe(level);
  });

  test('is not judged by fewer than 200 recipients, nor by fewer than five bounces or complaints', () => {
    expect(levelAfter(counts(99, 100))).toBe('good');
    expect(levelAfter(counts(199, 0, 100))).toBe('good');
    expect(levelAfter(counts(200, 4, 4))).toBe('good');
    expect(levelAfter(counts(100, 100))).toBe('paused');
    expect(levelAfter(counts(200, 0, 5))).toBe('paused');
  });

  test('keeps its reputation until the rate is a fifth below what led to it, and recovers step by step', () => {
    const paused = counts(950, 50);
    expect(levelAfter(paused, counts(959, 41))).toBe('paused');
    expect(levelAfter(paused, counts(961, 39))).toBe('slowed');
    expect(levelAfter(paused, counts(969, 31))).toBe('warned');
    expect(levelAfter(paused, counts(985, 15))).toBe('good');
    expect(levelAfter(paused, counts(150, 10))).toBe('paused');
    expect(levelAfter(paused, NO_COUNTS)).toBe('good');
  });

  test('has the reputation of the worst measure', () => {
    const both = after(GOOD_REPUTATION, [counts(950, 50, 3), counts(10_000, 20, 25)]);
    expect(both).toMatchObject({ level: 'slowed', measure: 'complaints' });
  });

  test('records what led to its reputation', () => {
    expect(judge(counts(950, 50))(GOOD_REPUTATION)).toEqual([
      {
        type: 'SendingPaused',
        data: { domainId: 'dom_1', measure: 'bounces', count: 50, of: 1000, limitPercent: 5 },
      },
    ]);
  });

  test('is released once, and is not judged by earlier counts', () => {
    const paused = after(GOOD_REPUTATION, [counts(950, 50)]);
    const { given } = specify(reputation);
    given([{ type: 'SendingReleased', data: { domainId: 'dom_1' } }])
      .when((state) => releaseSending(state, DOMAIN))
      .thenNothing();
    const [released] = releaseSending(paused, DOMAIN);
    if (released === undefined) throw new Error('nothing was released');
    const state = reputation.evolve(paused, released, contextAt(NOW));
    expect(state).toEqual({ level: 'good', measure: null, since: NOW, releasedAt: NOW, pausedSince: null });
    expect(judge(counts(950, 50))(state)).toEqual([]);
    expect(after(state, [counts(950, 50, 0, NOW)]).level).toBe('paused');
  });

  test('recovers when what led to its reputation no longer counts', () => {
    const paused = after(GOOD_REPUTATION, [counts(950, 50)]);
    expect(after(paused, [counts(950, 50)], { ...LIMITS, bounces: null }).level).toBe('good');
  });
});

describe('an organization', () => {
  const sender = { domainId: null, organizationId: 'org_1' };
  const judgeAll = (state: Reputation, found: ReputationCounts) =>
    evaluateReputation(state, { ...sender, counts: found, limits: LIMITS });
  const evolved = (state: Reputation, found: ReputationCounts): Reputation =>
    judgeAll(state, found).reduce((is, event) => reputation.evolve(is, event, contextAt(NOW)), state);

  test.each([
    [980, 20, 'warned', 'OrganizationSendingWarned'],
    [960, 40, 'slowed', 'OrganizationSendingSlowed'],
    [950, 50, 'paused', 'OrganizationSendingPaused'],
  ])('is judged as a domain is, with %i delivered and %i bounced %s', (delivered, bounced, level, type) => {
    const limitPercent = { warned: 2, slowed: 4, paused: 5 }[level];
    expect(judgeAll(GOOD_REPUTATION, counts(delivered, bounced))).toEqual([
      { type, data: { organizationId: 'org_1', measure: 'bounces', count: bounced, of: 1000, limitPercent } },
    ]);
    expect(evolved(GOOD_REPUTATION, counts(delivered, bounced))).toMatchObject({ level, measure: 'bounces' });
  });

  test('recovers, and is released once', () => {
    const paused = evolved(GOOD_REPUTATION, counts(950, 50));
    expect(judgeAll(paused, counts(999, 1))).toEqual([
      { type: 'OrganizationSendingRecovered', data: { organizationId: 'org_1' } },
    ]);
    const events = releaseSending(paused, sender);
    expect(events).toEqual([{ type: 'OrganizationSendingReleased', data: { organizationId: 'org_1' } }]);
    const released = events.reduce((is, event) => reputation.evolve(is, event, contextAt(NOW)), paused);
    expect(released).toEqual({ level: 'good', measure: null, since: NOW, releasedAt: NOW, pausedSince: null });
    expect(releaseSending(released, sender)).toEqual([]);
    expect(judgeAll(released, counts(950, 50))).toEqual([]);
  });
});

const found = fc.record({
  releasedAt: fc.constant(null),
  delivered: fc.integer({ min: 0, max: 20_000 }),
  bounced: fc.integer({ min: 0, max: 1500 }),
  complained: fc.integer({ min: 0, max: 100 }),
});

describe('any count', () => {
  test('judged again changes nothing', () => {
    fc.assert(
      fc.property(fc.array(found, { minLength: 1, maxLength: 8 }), (all) => {
        const state = after(GOOD_REPUTATION, all);
        expect(judge(all.at(-1) ?? NO_COUNTS)(state)).toEqual([]);
      }),
    );
  });

  test('with rates that move by less than a tenth around a limit changes a reputation once at most', () => {
    const around = fc.array(fc.integer({ min: 46, max: 54 }), { minLength: 2, maxLength: 30 });
    fc.assert(
      fc.property(around, (bounces) => {
        const levels = bounces.map((_, index) =>
          levelAfter(...bounces.slice(0, index + 1).map((bounced) => counts(1000 - bounced, bounced))),
        );
        const changes = levels.filter((level, index) => index > 0 && level !== levels[index - 1]);
        expect(changes.length).toBeLessThanOrEqual(1);
      }),
    );
  });

  test('never makes a reputation worse if it is too small to judge by', () => {
    const few = found.map((all) => ({ ...all, delivered: all.delivered % 100, bounced: all.bounced % 100 }));
    fc.assert(
      fc.property(found, few, (before, then) => {
        const [was, is] = [levelAfter(before), levelAfter(before, then)];
        const order = (level: string): number => (REPUTATION_LEVELS as readonly string[]).indexOf(level);
        expect(order(is)).toBeLessThanOrEqual(order(was));
      }),
    );
  });
});

describe('the limits', () => {
  test.each(['2,4,5', ' 2 , 4 , 5 ', '0.08,0.2,0.3', '5,5,5', '1,2,100'])('may be %j', (text) => {
    expect(readLimits(text)).toHaveLength(3);
  });
  test.each([
    '',
    '2,4',
    '2,4,5,6',
    '5,4,2',
    '0,1,2',
    '-1,2,3',
    '1,2,101',
    '1e1,20,30',
    '2;4;5',
    'x,y,z',
    'NaN,1,2',
    '1,,2',
  ])('are not %j', (text) => {
    expect(readLimits(text)).toBeUndefined();
  });
  test('may be off', () => {
    expect(readLimits('off')).toBeNull();
  });
  test('cover seven days, including today', () => {
    expect(countedFrom(new Date('2026-11-22T23:59:59.999Z'))).toBe('2026-11-16');
  });
});
