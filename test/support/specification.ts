import { expect } from 'vitest';
import type { Aggregate } from '../../src/domain/kernel/aggregate.ts';
import { DomainError } from '../../src/domain/kernel/errors.ts';
import type { EventContext, RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import type { OutboxEvent } from '../../src/domain/kernel/events.ts';
import { canonicalJson } from '../../src/lib/transparency/transparency.ts';

export const NOW = '2026-11-21T12:00:00.000Z';

export const contextAt = (occurredAt: string, organizationId = 'org_mine'): EventContext => ({
  $correlationId: 'c0',
  $causationId: 'c0',
  occurredAt,
  actor: 'key:key_test',
  organizationId,
  environment: 'live',
  requestId: 'req_1',
});

/** Stream and position for an event that was never in a log. */
interface Place extends Pick<RecordedEvent, 'stream'>, Partial<Pick<RecordedEvent, 'id' | 'revision' | 'position'>> {}

/** Wraps an event as a log would return it. */
export const recordedAs = <E extends OutboxEvent>(
  event: E,
  { id = '', stream, revision = 0, position = '' }: Place,
  context: EventContext,
): RecordedEvent<E> => {
  const metadata = { ...context, schemaVersion: 1 };
  const { type, data } = event;
  const stored = { id, type, data: canonicalJson(data), metadata: canonicalJson(metadata) };
  return { ...event, id, stream, revision, position, metadata, stored };
};

/** The position in the log of the event with this number, from 1. */
export const positionOf = (number: number): string => String(number).padStart(4, '0');

/** given (these events) · when (this decision) · then (these events, or this error). */
export const specify = <State, E extends OutboxEvent>(aggregate: Aggregate<State, E>) => ({
  given: (events: readonly E[], organizationId = 'org_mine') => {
    const state = events.reduce(
      (before, event, index) => aggregate.evolve(before, event, contextAt(NOW, organizationId), positionOf(index + 1)),
      aggregate.initial,
    );
    return {
      state,
      when: (decide: (state: State) => readonly E[]) => ({
        thenEvents: (...expected: readonly unknown[]) => {
          expect(decide(state)).toEqual(expected);
        },
        thenState: (expected: object) => {
          const after = decide(state).reduce((before, event) => aggregate.evolve(before, event, contextAt(NOW)), state);
          expect(after).toMatchObject(expected);
        },
        thenNothing: () => {
          expect(decide(state)).toEqual([]);
        },
        thenRefused: (code: string) => {
          let thrown: unknown;
          try {
            decide(state);
          } catch (error) {
            thrown = error;
          }
          expect(thrown).toBeInstanceOf(DomainError);
          expect((thrown as DomainError).code).toBe(code);
        },
      }),
    };
  },
});
