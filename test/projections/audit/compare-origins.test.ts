import { expect, test } from 'vitest';
import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import { ORIGIN_DAYS, originPart } from '../../../src/domain/ports/requests.ts';
import { rootOfPart } from '../../../src/lib/transparency/transparency.ts';
import { createOriginComparison } from '../../../src/projections/audit/check/compare-contents.ts';
import { contextAt, NOW, recordedAs } from '../../support/specification.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const client = originPart({ address: '192.0.2.1', userAgent: 'curl/8', salt: 'c2FsdA' });
const another = originPart({ address: '192.0.2.2', userAgent: 'curl/8', salt: 'c2FsdA' });

const changed = (organizationId: string, number: number): RecordedEvent =>
  recordedAs(
    { type: 'KeyRevoked', data: { keyId: `key_${number}` } },
    { id: `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`, stream: `apiKey-key_${number}` },
    { ...contextAt(NOW, organizationId), originId: `origin-${number}`, originRoot: rootOfPart(client) },
  );

type KeptOrigin = typeof client | null;

/** @returns the faults that are reported when the events have this age. */
const faultsOf = async (
  events: readonly RecordedEvent[],
  ageMs: number,
  partOf: (organizationId: string, id: string) => Promise<KeptOrigin>,
): Promise<readonly string[]> => {
  const faults: string[] = [];
  const comparison = createOriginComparison({
    origins: { partOf },
    system: { now: () => new Date(Date.parse(NOW) + ageMs) },
    signal: new AbortController().signal,
    onFault: (sentence) => faults.push(sentence),
  });
  await comparison.compare(events);
  expect(comparison.counts()).toEqual({ clients: events.length });
  return faults;
};

test.each<[string, number, KeptOrigin, RegExp | null]>([
  ['is there at once', 0, client, null],
  ['is gone at once', 0, null, /its recorded client was removed before 365 days/],
  ['is gone a day early', (ORIGIN_DAYS - 1) * DAY_MS, null, /its recorded client was removed before 365 days/],
  ['is gone a clock’s difference early', ORIGIN_DAYS * DAY_MS - HOUR_MS / 2, null, null],
  ['was swept after a year', ORIGIN_DAYS * DAY_MS, null, null],
  ['is not swept yet', (ORIGIN_DAYS + 9) * DAY_MS, client, null],
  ['is another one after a year', (ORIGIN_DAYS + 9) * DAY_MS, another, /its recorded client differs/],
])('a client that %s', async (_, ageMs, kept, fault) => {
  const faults = await faultsOf([changed('org_mine', 1)], ageMs, async () => kept);
  expect(faults).toEqual(fault === null ? [] : [expect.stringMatching(fault)]);
});

test('the clients of each organization are looked up separately, a few at a time', async () => {
  const events = Array.from({ length: 2_000 }, (_, n) => changed(`org_${n % 1_000}`, n));
  let [now, most] = [0, 0];
  const faults = await faultsOf(events, 0, async (organizationId, id) => {
    now += 1;
    most = Math.max(most, now);
    await Promise.resolve();
    now -= 1;
    return organizationId === 'org_7' || id === 'origin-8' ? another : client;
  });
  expect(faults).toHaveLength(3);
  expect(faults.every((sentence) => /of org_[78]: its recorded client differs/.test(sentence))).toBe(true);
  expect(most).toBeLessThanOrEqual(4);
});
