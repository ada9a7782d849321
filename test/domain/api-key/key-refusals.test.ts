import { describe, expect, test } from 'vitest';
import {
  keyRefusals,
  type NoteRefusal,
  noteRefusal,
  REFUSALS_PER_MINUTE_MAX,
} from '../../../src/domain/api-key/key-history.ts';
import { fold } from '../../../src/domain/kernel/aggregate.ts';
import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import { contextAt, NOW } from '../../support/specification.ts';

const ask = (more: Partial<NoteRefusal> = {}): NoteRefusal => ({
  keyId: 'key_1',
  change: 'rotate',
  code: 'too_many_live_secrets',
  actor: 'key:key_test',
  at: NOW,
  ...more,
});

/** Refusals in the order in which they would happen. */
const noted = (...asked: readonly NoteRefusal[]): readonly RecordedEvent[] => {
  const log: RecordedEvent[] = [];
  for (const each of asked) {
    const metadata = { ...contextAt(each.at), actor: each.actor };
    const events = noteRefusal(fold(keyRefusals, log), each);
    log.push(...events.map((event) => ({ ...event, metadata }) as unknown as RecordedEvent));
  }
  return log;
};

describe('a refused change of an API key', () => {
  test('is recorded with what was asked and why it was refused', () => {
    expect(noteRefusal([], ask())).toEqual([
      { type: 'KeyChangeRefused', data: { keyId: 'key_1', change: 'rotate', code: 'too_many_live_secrets' } },
    ]);
  });

  test('is not recorded again within a minute, but is after it', () => {
    expect(noted(ask(), ask({ at: '2026-11-21T12:00:59.999Z' }))).toHaveLength(1);
    expect(noted(ask(), ask({ at: '2026-11-21T12:01:00.000Z' }))).toHaveLength(2);
  });

  test('is recorded next to others that differ', () => {
    const others = [ask({ change: 'revoke' }), ask({ code: 'key_not_active' }), ask({ actor: 'key:key_other' })];
    expect(noted(ask(), ...others)).toHaveLength(4);
  });

  test('is not recorded after too many in a minute, from any actor', () => {
    const crowd = Array.from({ length: 50 }, (_, index) => ask({ actor: `key:key_${index}` }));
    expect(noted(...crowd)).toHaveLength(REFUSALS_PER_MINUTE_MAX);
  });
});
