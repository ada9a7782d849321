/**
 * Takes one job and never ends it. SIGTERM closes its queues: `node worker-process.ts postgres|redis <url> <queue>`.
 */
import { createPostgresQueues } from '../../../src/adapters/queue/bullmq-postgres.ts';
import { createRedisQueues } from '../../../src/adapters/queue/bullmq-redis.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { LOCK_MS } from './engine.ts';
import { createRecordingLogger } from './recorder.ts';

const [engine, url = '', queue = ''] = process.argv.slice(2);
const create = engine === 'redis' ? createRedisQueues : createPostgresQueues;
const queues = await create(url, {
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
