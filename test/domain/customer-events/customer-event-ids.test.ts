import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  customerEventId,
  customerEvents,
  eventIdsOf,
  isCustomerEventOf,
} from '../../../src/domain/customer-events/customer-events.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import { isId } from '../../../src/domain/kernel/ids.ts';
import { canonicalJson } from '../../../src/lib/transparency/transparency.ts';
import { contextAt } from '../../support/specification.ts';

const FIXTURES = new URL('../../fixtures/events/', import.meta.url);
const ID = '01a0b1c2-d3e4-7000-8000-000000000001';

describe('the id of a customer event', () => {
  test('names the millisecond of the log event that causes it', () => {
    const id = customerEventId(ID, 3);
    expect(isId('evt', id)).toBe(true);
    expect(eventIdsOf(id)).toEqual(['01a0b1c2-d3e4-0000-0000-000000000000', '01a0b1c2-d3e4-ffff-ffff-ffffffffffff']);
    const others = [customerEventId(ID, 4), customerEventId(ID.replace(/1$/, '2'), 3)];
    expect(new Set([id, ...others]).size).toBe(3);
  });

  test.each(readdirSync(FIXTURES))('can be derived again from the log for %s', (name) => {
    const [type = '', version = ''] = name.split('.');
    const data = JSON.parse(readFileSync(new URL(name, FIXTURES), 'utf8'));
    const metadata = canonicalJson({
      ...contextAt('2026-01-01T00:00:00.000Z'),
      schemaVersion: Number(version.slice(1)),
    });
    const stored = { id: ID, type, data: canonicalJson(data), metadata };
    const decoded = eventCodec.decode(stored);
    const made = customerEvents({ ...decoded, stream: 'message-a', revision: 0, position: '1', stored } as never);
    for (const { id } of made) expect(isCustomerEventOf(id, { id: ID, data })).toBe(true);
    expect(isCustomerEventOf(customerEventId(ID, 1_000), { id: ID, data })).toBe(false);
  });
});
