import { describe, expect, test } from 'vitest';
import { secretHistory } from '../../../src/domain/api-key/key-history.ts';
import type { ApiKeyEvent, SendingDomainEvent } from '../../../src/domain/kernel/events.ts';
import { keyCreated, keyDeleted, keyRevoked, keyRotated } from '../../support/controls/api-key.ts';
import { contextAt, recordedAs } from '../../support/specification.ts';

const DAY = (day: number): string => `2026-11-${String(day).padStart(2, '0')}T12:00:00.000Z`;

type HistoryEvent = ApiKeyEvent | Extract<SendingDomainEvent, { readonly type: 'DomainDeleted' }>;

/** @param happened events with the day on which each happened. */
const endsOf = (
  happened: readonly (readonly [day: number, event: HistoryEvent])[],
  expiresAt: string | null = null,
) => {
  const events = happened.map(([day, event]) => recordedAs(event, { stream: 'apiKey-key_1' }, contextAt(DAY(day))));
  return secretHistory(events, expiresAt).map(({ number, end }) => [number, end?.at ?? null, end?.reason ?? null]);
};

const domainDeleted: HistoryEvent = { type: 'DomainDeleted', data: { domainId: 'dom_1', name: 'example.test' } };

describe('the secrets of a key', () => {
  test('begin with the one that it was made with', () => {
    expect(endsOf([[1, keyCreated()]])).toEqual([[1, null, null]]);
  });

  test('end with the grace period that their rotation gave them, newest first', () => {
    expect(
      endsOf([
        [1, keyCreated()],
        [2, keyRotated(1, DAY(9))],
        [3, keyRotated(2, DAY(4))],
      ]),
    ).toEqual([
      [3, null, null],
      [2, DAY(4), 'rotated'],
      [1, DAY(9), 'rotated'],
    ]);
  });

  test('end all at once with a rotation that revokes earlier ones, but not after they had ended', () => {
    expect(
      endsOf([
        [1, keyCreated()],
        [2, keyRotated(1, DAY(3))],
        [4, keyRotated(2, DAY(20))],
        [5, keyRotated(3, DAY(5), true)],
      ]),
    ).toEqual([
      [4, null, null],
      [3, DAY(5), 'rotated'],
      [2, DAY(5), 'rotated'],
      [1, DAY(3), 'rotated'],
    ]);
  });

  test.each([
    ['key_revoked', keyRevoked],
    ['key_deleted', keyDeleted],
    ['domain_deleted', domainDeleted],
  ] as const)('end with their key: %s', (reason, event) => {
    expect(
      endsOf([
        [1, keyCreated()],
        [2, keyRotated(1, DAY(3))],
        [4, keyRotated(2, DAY(20))],
        [5, event],
        [6, keyDeleted],
      ]),
    ).toEqual([
      [3, DAY(5), reason],
      [2, DAY(5), reason],
      [1, DAY(3), 'rotated'],
    ]);
  });

  test('end when their key expires, unless something else ends them before', () => {
    const life = [
      [1, keyCreated()],
      [2, keyRotated(1, DAY(3))],
      [4, keyRotated(2, DAY(20))],
    ] as const;
    expect(endsOf(life, DAY(10))).toEqual([
      [3, DAY(10), 'key_expired'],
      [2, DAY(10), 'key_expired'],
      [1, DAY(3), 'rotated'],
    ]);
    expect(endsOf([...life, [6, keyRevoked]], DAY(10))[0]).toEqual([3, DAY(6), 'key_revoked']);
  });

  test('are numbered without gaps through 10,000 rotations', () => {
    const life = Array.from({ length: 10_000 }, (_, index) => [2, keyRotated(index, DAY(3), true)] as const);
    const ends = endsOf([[1, keyCreated()], ...life]);
    expect(ends.length).toBe(10_001);
    expect(ends[0]).toEqual([10_001, null, null]);
    expect(ends.at(-1)).toEqual([1, DAY(2), 'rotated']);
  });
});
