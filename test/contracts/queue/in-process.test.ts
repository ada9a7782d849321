import { createInProcessQueues } from '../../../src/adapters/queue/in-process.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { describeQueue } from './contract.ts';
import { createRecordingLogger } from './recorder.ts';

describeQueue('the memory of a process', async () => ({
  connect: async ({ closeLimitMs }) =>
    createInProcessQueues({ system: createSystem(), logger: createRecordingLogger(), closeLimitMs }),
  stop: async () => undefined,
}));
