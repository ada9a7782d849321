/**
 * Takes one job and never ends it. SIGTERM closes its queues: `node worker-process.ts <url> <queue>`.
 */
import { createBullmqQueues } from '../../../src/adapters/queue/bullmq.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { LOCK_MS } from './engine.ts';
import { createRecordingLogger } from './recorder.ts';

const [url = '', queue = ''] = process.argv.slice(2);
const queues = await createBullmqQueues(url, {
  system: createSystem(),
  logger: createRecordingLogger(),
  lockMs: LOCK_MS,
  closeLimitMs: 300,
});
process.once('SIGTERM', () => void queues.close());

queues.open(queue).work(
  async () => {
    process.stdout.write('busy\n');
    await new Promise(() => undefined);
  },
  { concurrency: 1 },
);
