import { expect, test, vi } from 'vitest';
import { createInProcessQueues } from '../../src/adapters/queue/in-process.ts';
import type { Queue, QueueName, Queues } from '../../src/domain/ports/queue.ts';
import { closedAfterTest } from '../support/after-test.ts';
import { openService } from './service.ts';

/** Queues that count the jobs added through them. */
const counting = (queues: Queues): Queues & { added(): number } => {
  let count = 0;
  return {
    ...queues,
    added: () => count,
    open: <Job>(name: QueueName): Queue<Job> => {
      const queue = queues.open<Job>(name);
      const add: Queue<Job>['add'] = (jobs) => {
        count += jobs.length;
        return queue.add(jobs);
      };
      return { ...queue, add };
    },
  };
};

test('one of two processes leads and dispatches, and the other takes over when it is gone', async () => {
  const service = closedAfterTest(await openService());
  const processes = [1, 2].map(() => {
    const queues = counting(createInProcessQueues({ system: service.system, logger: service.logger }));
    return { queues, workers: service.workers({ queues }) };
  });
  for (const { workers } of processes) workers.start();
  await service.webhook('http://127.0.0.1:9/', ['message.*'], 'test');
  await service.send('first@example.org', 'test');
  // Both have reached the checkpoint when one of them finds that the other moves it.
  await vi.waitFor(() => expect(service.logger.said('debug')).toContain('another process is the leader'), 20_000);

  const before = processes.map(({ queues }) => queues.added());
  for (const name of ['ann', 'carl']) {
    const sent = await service.send(`${name}@example.org`, 'test');
    await vi.waitFor(async () => expect((await service.message(sent)).recipients[0]?.status).toBe('delivered'), 10_000);
  }
  const added = processes.map(({ queues }, index) => queues.added() - (before[index] ?? 0));
  expect(added.toSorted()).toEqual([0, 2]);

  await processes[added.indexOf(2)]?.workers.stop();
  const id = await service.send('bob@example.org', 'test');
  await vi.waitFor(async () => expect((await service.message(id)).recipients[0]?.status).toBe('delivered'), {
    timeout: 10_000,
    interval: 50,
  });
});
