import { expect, test } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import type { SourceQuotas } from '../../../src/domain/ports/mail.ts';
import { createSourceQuotas } from '../../../src/workers/warm-ups.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';

const NEW = '192.0.2.8';
const DAY_SECONDS = 86_400;

/** Processes that share a log, on the second day of the warm-up. */
const open = (processes = 1) => {
  let now = new Date('2026-11-30T12:00:00.000Z');
  const system = { ...createSystem(), now: () => now };
  const store = createInMemoryEventStore({ codec: eventCodec, system, contents: createInMemoryContents() });
  const destinations = {
    providerOf: async (domain: string) => (domain.endsWith('.at.test') ? 'provider.test' : domain),
  };
  const warmUps = new Map([[NEW, '2026-11-29']]);
  const start = () => createSourceQuotas({ store, system, destinations, warmUps });
  return {
    store,
    quotas: Array.from({ length: processes }, start),
    at: (time: string) => {
      now = new Date(time);
    },
  };
};

const sentBy = async (quotas: readonly SourceQuotas[], count: number, more: object = {}): Promise<number> => {
  const request = { source: NEW, domain: 'b.test', recipients: 1, exemptFromCap: false, ...more };
  const granted = await Promise.all(
    Array.from({ length: count }, (_, index) => quotas[index % quotas.length]?.reserve(request)),
  );
  return granted.filter(Boolean).length;
};

test('a new address sends its quota of the day to each mailbox provider, and more on the next day', async () => {
  const { quotas, at } = open();
  expect(await sentBy(quotas, 150)).toBe(100);
  expect(await sentBy(quotas, 60, { domain: 'one.at.test' })).toBe(60);
  expect(await sentBy(quotas, 60, { domain: 'two.at.test' })).toBe(40);
  at('2026-12-01T00:00:00.000Z');
  expect(await sentBy(quotas, 250)).toBe(200);
  at('2026-12-11T00:00:00.000Z');
  expect(await sentBy(quotas, 500)).toBe(500);
});

test('processes share the quota, also one that starts later', async () => {
  const { quotas, store } = open(3);
  expect(await sentBy(quotas, 300)).toBeLessThanOrEqual(100);
  // Those that met a conflict overflowed: what is left is still granted.
  await sentBy(quotas.slice(0, 1), 100);
  const { events } = await store.readAll({ limit: 1_000 });
  const places = events.flatMap(({ type, data }) =>
    type === 'SourcePlacesTaken' ? data.taken.map(({ places }) => places) : [],
  );
  expect(places.reduce((sum, each) => sum + each, 0)).toBe(100);
});

test('other addresses have no quota, and mail that must not wait is sent beyond it', async () => {
  const { quotas } = open();
  expect(await sentBy(quotas, 500, { source: '192.0.2.7' })).toBe(500);
  await sentBy(quotas, 100);
  expect(await sentBy(quotas, 3, { exemptFromCap: true })).toBe(3);
  expect(await sentBy(quotas, 1)).toBe(0);
});

test('mail that waits is tried again tomorrow, spread over the day', () => {
  const { quotas } = open();
  const waits = Array.from({ length: 200 }, () => quotas[0]?.retryAfterSeconds() ?? 0);
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(DAY_SECONDS / 2);
  expect(Math.max(...waits)).toBeLessThanOrEqual(1.5 * DAY_SECONDS);
  expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(DAY_SECONDS / 2);
});
