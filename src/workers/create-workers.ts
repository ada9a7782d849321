import type { Contents } from '../domain/contents.ts';
import type { Environment } from '../domain/environment.ts';
import type { EventStore } from '../domain/event-store.ts';
import type { Logger } from '../domain/logger.ts';
import type { MailTransport } from '../domain/mail-transport.ts';
import type { Queues } from '../domain/queue.ts';
import type { Secrets } from '../domain/secrets.ts';
import { sendingDomain } from '../domain/sending-domain/sending-domain.ts';
import type { System } from '../domain/system.ts';
import { webhook } from '../domain/webhook/webhook.ts';
import type { WebhookDeliveries } from '../domain/webhook-deliveries.ts';
import type { WebhookTarget } from '../domain/webhook-target.ts';
import { type ExpiredKeys, expireKeys } from './api-keys/expire-keys.ts';
import { createDuty } from './duty.ts';
import { keepRunning, type Loop } from './keep-running.ts';
import { createAcceptedAtHand } from './messages/accepted-at-hand.ts';
import { createDeletedDomains } from './messages/deleted-domains.ts';
import type { AttemptTimes } from './messages/deliver-message.ts';
import { createDeliverMessages } from './messages/deliver-messages.ts';
import type { DeliveryJob } from './messages/delivery-job.ts';
import { dispatchMessages } from './messages/dispatch-messages.ts';
import { createRecentlyAdded } from './messages/recently-added.ts';
import { type DueDeliveries, sweepDeliveries } from './messages/sweep-deliveries.ts';
import { remember } from './remember.ts';
import { createEndpoints } from './webhooks/endpoints.ts';
import { createHungry } from './webhooks/hungry.ts';
import { createPostWebhooks } from './webhooks/post-webhooks.ts';
import { recordWebhookDeliveries } from './webhooks/record-webhook-deliveries.ts';
import { WEBHOOK_TIMES, type WebhookTimes } from './webhooks/webhook-times.ts';

export interface WorkersDependencies {
  readonly store: EventStore;
  readonly contents: Contents;
  readonly secrets: Secrets;
  readonly queues: Queues;
  /** `live`: as configured; `test`: simulated. */
  readonly transports: Readonly<Record<Environment, MailTransport>>;
  /** The read model's query, bound to its database. */
  readonly dueDeliveries: DueDeliveries;
  /** The same for keys whose time is over. */
  readonly expiredKeys: ExpiredKeys;
  readonly webhookDeliveries: WebhookDeliveries;
  readonly webhookTarget: WebhookTarget;
  readonly times: AttemptTimes;
  /** Default: `WEBHOOK_TIMES`. */
  readonly webhookTimes?: WebhookTimes;
  /** Where recipients reach this service, for links in their mail. */
  publicUrl(): string;
  readonly system: System;
  readonly logger: Logger;
  /** The workers cannot go on (`domain/is-fatal.ts`): the process has to end, and say so. */
  onFatal(error: unknown): void;
}

/** Everything that runs by itself. */
export interface Workers {
  start(): void;
  /** Finishes or gives back what is in hand, within 10 s. The dependencies stay open: they are their owner's. */
  stop(): Promise<void>;
}

/** Jobs worked at once by a process: lone messages, which are a job each, use half of the slots (`deliver-messages.ts`). */
const DELIVERY_JOBS = 64;

/** Attempts against servers anywhere: RFC 5321 §4.5.3.2 asks for minutes of patience, and a crash delays by the lease. */
export const REMOTE_ATTEMPT_TIMES: AttemptTimes = { attemptMs: 240_000, leaseMs: 300_000 };
/** Attempts against a server on this machine: what a crash interrupted is tried again soon. */
export const LOCAL_ATTEMPT_TIMES: AttemptTimes = { attemptMs: 10_000, leaseMs: 20_000 };

export const createWorkers = (deps: WorkersDependencies): Workers => {
  const { store, system, queues } = deps;
  const queue = queues.open<DeliveryJob>('deliver-messages');
  const recentlyAdded = createRecentlyAdded(system);
  const acceptedAtHand = createAcceptedAtHand();
  const duty = createDuty();
  const endpoints = createEndpoints();
  const deletedDomains = createDeletedDomains();
  const hungry = createHungry();
  const wakeAll = (): void => hungry.add([...endpoints.enabled()].map(({ webhookId }) => webhookId));

  const remembering = remember(store, [
    { category: webhook.category, apply: endpoints.apply, onChange: wakeAll },
    { category: sendingDomain.category, apply: deletedDomains.apply },
  ]);

  const jobs = {
    'the dispatch of messages': dispatchMessages({ store, queue, recentlyAdded, acceptedAtHand, duty, system }),
    'the sweep of deliveries': sweepDeliveries({ ...deps, queue, recentlyAdded, duty }),
    'the list of webhook endpoints and deleted domains': remembering.work,
    'the expiry of API keys': expireKeys({ ...deps, duty }),
    'the recording of webhook deliveries': recordWebhookDeliveries({ ...deps, duty, onOwed: hungry.add }),
    'the posting of webhooks': createPostWebhooks({ webhookTimes: WEBHOOK_TIMES, ...deps, endpoints, hungry }),
  };
  const loops: Loop[] = [];
  let stopping = false;

  /** Not before it is known which domains are gone: their mail must not leave. */
  const deliver = async (): Promise<void> => {
    await remembering.caughtUp;
    const handler = createDeliverMessages({ ...deps, deletedDomains, acceptedAtHand });
    if (!stopping) queue.work(handler, { concurrency: DELIVERY_JOBS });
  };

  return {
    start: () => {
      void deliver();
      for (const [name, work] of Object.entries(jobs)) loops.push(keepRunning(deps, name, work));
    },
    stop: async () => {
      stopping = true;
      await Promise.all([...loops.map((loop) => loop.stop()), queue.close()]);
    },
  };
};
