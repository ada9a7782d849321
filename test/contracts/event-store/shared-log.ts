import { afterAll, beforeAll } from 'vitest';
import type { EventStoreHarness, OpenLog } from './harness.ts';

/** One log for all tests of a group. Each test only looks at its own streams and at events after `head()`. */
export const sharedLog = (harness: EventStoreHarness): (() => OpenLog) => {
  let log: OpenLog | undefined;
  beforeAll(async () => {
    log = await harness.open();
  });
  afterAll(async () => {
    await log?.close();
  });
  return () => {
    if (log === undefined) throw new Error('the log is not open');
    return log;
  };
};
