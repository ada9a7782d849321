import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Append,
  AppendOutcomeUnknown,
  type EventStore,
  type Revision,
} from '../../../src/domain/kernel/event-store.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';

const RETRIES_MAX = 200;

/** Appends as every writer does: with the same ids and expectation, until the outcome is known. */
export const appendStubbornly = async (store: EventStore, append: Append): Promise<Revision> => {
  for (let attempt = 0; attempt < RETRIES_MAX; attempt += 1) {
    try {
      return (await store.append(append)).revision;
    } catch (error) {
      if (!(error instanceof AppendOutcomeUnknown || error instanceof StoreUnavailable)) throw error;
      await sleep(50);
    }
  }
  throw new Error('the store never came back');
};
