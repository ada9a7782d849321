/** Runs every step that has fault injection points three times, and prints a line before and after each. */
import { EventEmitter } from 'node:events';
import { writeSync } from 'node:fs';
import type { Pool, PoolClient } from 'pg';
import { type FailStep, readFailPoint } from '../../chaos/harness/fault-points.ts';
import { faultyPorts } from '../../chaos/harness/faulty-ports.ts';
import type { Append, EventStore } from '../../src/domain/kernel/event-store.ts';
import type { Contents, Retention } from '../../src/domain/ports/contents.ts';
import type { MailTransport } from '../../src/domain/ports/mail.ts';
import type { JobHandler, Queues } from '../../src/domain/ports/queue.ts';
import type { Secrets } from '../../src/domain/ports/secrets.ts';
import type { WebhookDeliveries, WebhookTarget } from '../../src/domain/ports/webhooks.ts';

const TIMES = [1, 2, 3] as const;
let step = '';
let time = 0;

// Writes synchronously, so that the line is printed even if the process is killed a moment later. A test process that is
// busy reads late: the pipe is full then.
const say = (text: string): void => {
  for (;;) {
    try {
      return void writeSync(1, `${text}\n`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
};
const done = async (): Promise<void> => say(`${step} ${time} done`);

const point = readFailPoint(process.env.OUTBOX_FAIL_POINT);
if (point === null) throw new Error('OUTBOX_FAIL_POINT is not set');
const failing = faultyPorts(point);
const store = failing.store({ append: done } as unknown as EventStore);
const contents = failing.contents({ put: done } as unknown as Contents);
const secrets = failing.secrets({ put: done, destroy: done } as unknown as Secrets);
const transport = failing.transport({ send: done } as unknown as MailTransport);
const target = failing.webhookTarget({ post: done } as unknown as WebhookTarget);
const retention = failing.retention({ expire: done, erase: done, noteErasure: done } as unknown as Retention);
const deliveries = failing.webhookDeliveries({
  record: done,
  claim: done,
  finish: done,
  advanceReplay: done,
} as unknown as WebhookDeliveries);

let handler: JobHandler<string> = done;
const work = (given: JobHandler<string>): void => {
  handler = given;
};
const queues = failing.queues({ open: () => ({ add: done, work }) } as unknown as Queues);
const queue = queues.open<string>('queue');
queue.work(done, { concurrency: 1 });

const client = { query: done } as unknown as PoolClient;
failing.pool(new EventEmitter() as unknown as Pool).emit('connect', client);

const appending =
  (type: string, actor = 'service') =>
  (): Promise<unknown> =>
    store.append({ events: [{ type }], context: { actor } } as unknown as Append);
const any = undefined as never;

const STEPS: Readonly<Record<FailStep, () => Promise<unknown>>> = {
  'append-accepted': appending('MessageAccepted'),
  'append-started': appending('AttemptStarted'),
  'append-outcome': appending('RecipientDelivered'),
  'append-lost': appending('AttemptOutcomeUnknown'),
  'append-held': appending('RecipientsHeld'),
  'append-unsent': appending('RecipientSuppressed'),
  'append-report': appending('RecipientBounced', 'worker:returned-mail'),
  'append-inbound': appending('InboundReceived'),
  'append-forward-claim': appending('InboundForwardStarted'),
  'append-forward-outcome': appending('InboundForwarded'),
  'append-unsubscription': appending('RecipientUnsubscribed'),
  'append-engagement': appending('RecipientOpened'),
  'append-suppression': appending('SuppressionAdded'),
  'append-suspension': appending('DestinationSuspended'),
  'append-places': appending('WarmUpPlacesTaken'),
  'append-reputation': appending('SendingPaused'),
  'append-release': appending('SendingReleased'),
  'append-keys': appending('DkimKeysAdded'),
  'append-check': appending('DomainRecordsChecked'),
  'append-destroyed': appending('DkimKeysDestroyed'),
  'append-invoice': appending('InvoiceClosed'),
  'append-checkpoint': appending('CheckpointSigned'),
  'append-cosignature': appending('CheckpointCosigned'),
  'append-erased': appending('PersonErased'),
  'append-other': appending('KeyCreated'),
  'contents-put': () => contents.put(any),
  'secret-put': () => secrets.put(any, 'org_1', any),
  'secret-destroy': () => secrets.destroy(any),
  'note-put': () => secrets.put(any, '', any),
  'queue-add': () => queue.add(any),
  'queue-work': () => handler(any, any),
  'mail-send': () => transport.send(any, any),
  checkpoint: () => client.query('commit'),
  'webhook-record': () => deliveries.record(any),
  'webhook-claim': () => deliveries.claim(any, any),
  'webhook-post': () => target.post(any),
  'webhook-finish': () => deliveries.finish(any),
  'content-expire': () => retention.expire(any, any),
  'content-erase': () => retention.erase(any),
  'erasure-note': () => retention.noteErasure(any),
  'webhook-replay': () => deliveries.advanceReplay(any),
};

for (const [name, take] of Object.entries(STEPS)) {
  for (const each of TIMES) {
    step = name;
    time = each;
    say(`${name} ${each} asked`);
    await take();
  }
}
say('end');
