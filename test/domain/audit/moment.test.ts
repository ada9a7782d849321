import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutAt, type Moment } from '../../../src/domain/audit/leaf.ts';
import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';

interface DatedEvent {
  readonly organizationId: string;
  /** Second within the minute. */
  readonly second: number;
}

const timeOf = (second: number): string => `2026-11-20T22:00:${String(second).padStart(2, '0')}.000Z`;
/** An event with only the metadata that a cut reads. */
const eventOf = ({ organizationId, second }: DatedEvent) =>
  ({ metadata: { organizationId, occurredAt: timeOf(second) } }) as RecordedEvent;

const kept = (log: readonly DatedEvent[], moment: Moment): readonly DatedEvent[] => {
  const cut = cutAt(moment);
  return log.filter((one) => cut.holds(eventOf(one)));
};

const logs = fc.array(
  fc.record({
    organizationId: fc.constantFrom('org_a', 'org_b', ''),
    second: fc.integer({ min: 0, max: 9 }),
  }),
  { maxLength: 30 },
);
const seconds = fc.integer({ min: 0, max: 9 });

/** The documented rule: all events before the first one whose running maximum is later. */
const prefixOf = (log: readonly DatedEvent[], organizationId: string, second: number): readonly DatedEvent[] => {
  const own = log.filter((one) => one.organizationId === organizationId);
  const end = own.findIndex((_, index) => Math.max(...own.slice(0, index + 1).map((one) => one.second)) > second);
  return end === -1 ? own : own.slice(0, end);
};

describe('the part of a log that existed at a time', () => {
  test('is a prefix of the events of each organization, whatever their clocks said', () => {
    fc.assert(
      fc.property(logs, seconds, (log, second) => {
        const all = kept(log, { organizationId: null, time: timeOf(second) });
        for (const organizationId of ['org_a', 'org_b', ''])
          expect(all.filter((one) => one.organizationId === organizationId)).toEqual(
            prefixOf(log, organizationId, second),
          );
      }),
    );
  });

  test('covers one organization only, if one is named', () => {
    fc.assert(
      fc.property(logs, seconds, (log, second) => {
        expect(kept(log, { organizationId: 'org_a', time: timeOf(second) })).toEqual(prefixOf(log, 'org_a', second));
      }),
    );
  });

  test('ends with a leaf if one is named, and needs no later event', () => {
    fc.assert(
      fc.property(logs, fc.integer({ min: 0, max: 5 }), (log, leaf) => {
        const cut = cutAt({ organizationId: 'org_a', leaf });
        const own = log.filter(({ organizationId }) => organizationId === 'org_a');
        const held = log.filter((one) => !cut.isOver() && cut.holds(eventOf(one)));
        expect(held).toEqual(own.slice(0, leaf + 1));
        expect(cut.isOver()).toBe(own.length > leaf);
      }),
    );
  });

  test('of all organizations may go on forever', () => {
    const cut = cutAt({ organizationId: null, time: timeOf(3) });
    expect(cut.holds(eventOf({ organizationId: 'org_a', second: 4 }))).toBe(false);
    expect(cut.isOver()).toBe(false);
    expect(cut.holds(eventOf({ organizationId: 'org_b', second: 3 }))).toBe(true);
  });
});
