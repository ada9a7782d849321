import type { PoolClient } from 'pg';
import type { PortDecorators } from '../../src/composition/open-engines.ts';
import type { Append } from '../../src/domain/kernel/event-store.ts';
import type { JobHandler, Queue } from '../../src/domain/ports/queue.ts';
import type { Secrets } from '../../src/domain/ports/secrets.ts';
import { APPEND_STEPS, createPassPoint, type FailPoint, type FailStep, type PassPoint } from './fault-points.ts';

const through = async <Result>(pass: PassPoint, step: FailStep, work: () => Promise<Result>): Promise<Result> => {
  pass(`before-${step}`);
  const result = await work();
  pass(`after-${step}`);
  return result;
};

const around =
  <Args extends readonly unknown[], Result>(
    pass: PassPoint,
    step: FailStep,
    work: (...args: Args) => Promise<Result>,
  ): ((...args: Args) => Promise<Result>) =>
  (...args) =>
    through(pass, step, () => work(...args));

/** Actor whose events belong to attempts. */
const REPORTER = 'worker:returned-mail';

const stepOf = ({ events: [first], context }: Append): FailStep => {
  if (context.actor === REPORTER) return 'append-report';
  return first === undefined ? 'append-other' : APPEND_STEPS[first.type];
};

const failingQueue = <Job>(pass: PassPoint, queue: Queue<Job>): Queue<Job> => ({
  ...queue,
  add: around(pass, 'queue-add', queue.add),
  work: (handler, options) => {
    const failing: JobHandler<Job> = around(pass, 'queue-work', handler);
    queue.work(failing, options);
  },
});

/** Secrets without an organization belong to the service itself. */
const failingSecrets = (pass: PassPoint, secrets: Secrets): Secrets => ({
  ...secrets,
  put: (...row) => through(pass, row[1] === '' ? 'note-put' : 'secret-put', () => secrets.put(...row)),
  destroy: around(pass, 'secret-destroy', secrets.destroy),
});

/** A commit is an ordinary query, recognized by its text. */
const failAtCommit = (pass: PassPoint, client: PoolClient): void => {
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const failing = (...args: unknown[]): Promise<unknown> =>
    args[0] === 'commit' ? through(pass, 'checkpoint', () => query(...args)) : query(...args);
  client.query = failing as typeof client.query;
};

/** Ports that kill this process at a fault injection point. */
export const faultyPorts = (point: FailPoint): PortDecorators => {
  const pass = createPassPoint(point);
  return {
    store: (store) => ({ ...store, append: (append) => through(pass, stepOf(append), () => store.append(append)) }),
    contents: (contents) => ({ ...contents, put: around(pass, 'contents-put', contents.put) }),
    secrets: (secrets) => failingSecrets(pass, secrets),
    queues: (queues) => ({
      ...queues,
      open: <Job>(name: string) => failingQueue<Job>(pass, queues.open<Job>(name)),
    }),
    transport: (transport) => ({ ...transport, send: around(pass, 'mail-send', transport.send) }),
    webhookDeliveries: (deliveries) => ({
      ...deliveries,
      record: around(pass, 'webhook-record', deliveries.record),
      claim: around(pass, 'webhook-claim', deliveries.claim),
      finish: around(pass, 'webhook-finish', deliveries.finish),
      advanceReplay: around(pass, 'webhook-replay', deliveries.advanceReplay),
    }),
    retention: (retention) => ({
      ...retention,
      expire: around(pass, 'content-expire', retention.expire),
      erase: around(pass, 'content-erase', retention.erase),
      noteErasure: around(pass, 'erasure-note', retention.noteErasure),
    }),
    webhookTarget: (target) => ({ ...target, post: around(pass, 'webhook-post', target.post) }),
    pool: (pool) => pool.on('connect', (client) => failAtCommit(pass, client)),
  };
};
