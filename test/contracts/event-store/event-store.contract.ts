import { describe } from 'vitest';
import { appendingContract } from './appending.contract.ts';
import { badDaysContract } from './bad-days.contract.ts';
import { concurrencyContract } from './concurrency.contract.ts';
import type { EventStoreHarness } from './harness.ts';
import { modelContract } from './model.contract.ts';
import { readingContract } from './reading.contract.ts';
import { subscribingContract } from './subscribing.contract.ts';

/** The contract of every event store. Each adapter's test file calls this with its harness. */
export const eventStoreContract = (harness: EventStoreHarness): void => {
  describe(`event store ${harness.name}`, () => {
    appendingContract(harness);
    readingContract(harness);
    subscribingContract(harness);
    concurrencyContract(harness);
    badDaysContract(harness);
    modelContract(harness);
  });
};
