import { createSystem } from '../../../src/adapters/system.ts';
import { createInMemoryQueues, type InMemoryJobs } from '../../support/in-memory/queue.ts';
import { describeQueue } from './contract.ts';
import { createRecordingLogger } from './recorder.ts';

describeQueue('memory', async () => {
  const jobs: InMemoryJobs = new Map();
  const system = createSystem();
  const logger = createRecordingLogger();
  return {
    connect: async ({ closeLimitMs }) => createInMemoryQueues({ system, logger, jobs, closeLimitMs }),
    wipe: async () => {
      for (const line of jobs.values()) line.waiting.clear();
    },
    stop: async () => undefined,
  };
});
