import { expect, onTestFinished, test } from 'vitest';
import { createPostgresEventStore } from '../../../src/adapters/event-store.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import { DomainError } from '../../../src/domain/kernel/errors.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import { createDailyQuota, type DailyQuota } from '../../../src/workers/warm-ups.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';
import { silentLogger } from '../../support/logger.ts';
import { migratedDatabase } from '../../support/postgres.ts';

const CAP = 50;
/** Messages of each process: enough that no process keeps quota that it does not use. */
const MESSAGES = 60;
const system = createSystem();

const inMemory = async (): Promise<EventStore> =>
  createInMemoryEventStore({ codec: eventCodec, system, contents: createInMemoryContents() });

const inPostgres = async (): Promise<EventStore> => {
  const database = await migratedDatabase();
  const store = await createPostgresEventStore({ url: database.url, codec: eventCodec, system, logger: silentLogger });
  onTestFinished(async () => {
    await store.close();
    await database.drop();
  });
  return store;
};

/** Retries after a write conflict, as the sweep does. */
const reserve = async (quota: DailyQuota, provider: string): Promise<boolean> => {
  for (;;) {
    try {
      return (await quota.reserve({ recipients: new Map([[provider, 1]]), exemptFromCap: false }, CAP)) === null;
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
  }
};

test.each([
  ['in memory', inMemory],
  ['in PostgreSQL', inPostgres],
])('processes that compete for a daily quota reserve exactly that much, with the log %s', async (_name, open) => {
  const store = await open();
  const start = () =>
    createDailyQuota({ store, system, organizationId: 'org_a', owner: { domainId: 'dom_1' }, day: '2026-11-22' });
  const processes = [start(), start(), start(), start()];
  const passes = await Promise.all(
    processes.flatMap((quota) => Array.from({ length: MESSAGES }, () => reserve(quota, 'a.test'))),
  );
  const count = passes.filter(Boolean).length;
  expect(count).toBe(CAP);
  expect(await reserve(start(), 'a.test')).toBe(false);
  expect(await reserve(start(), 'b.test')).toBe(true);
});
