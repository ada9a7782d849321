import { suspendDestination } from '../commands/destination.ts';
import { destination } from '../domain/destination/destination.ts';
import type { Environment } from '../domain/environment.ts';
import type { Contents } from '../domain/ports/contents.ts';
import type { EventStore, RecordedEvent } from '../domain/ports/event-store.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { MailTransport } from '../domain/ports/mail-transport.ts';
import type { Queues } from '../domain/ports/queue.ts';
import type { Secrets } from '../domain/ports/secrets.ts';
import type { System } from '../domain/ports/system.ts';
import type { WebhookDeliveries } from '../domain/ports/webhook-deliveries.ts';
import type { WebhookTarget } from '../domain/ports/webhook-target.ts';
import type { SendingLimits } from '../domain/reputation/evaluate-reputation.ts';
import { standing } from '../domain/reputation/reputation.ts';
import { domainRecords } from '../domain/sending-domain/domain-records.ts';
import { sendingDomain } from '../domain/sending-domain/sending-domain.ts';
import { warmUp } from '../domain/warm-up/warm-up.ts';
import { webhook } from '../domain/webhook/webhook.ts';
import { type ExpiredKeys, expireKeys } from './api-keys/expire-keys.ts';
import { createAcceptedAtHand } from './delivery/accepted-at-hand.ts';
import { createDeletedDomains } from './delivery/deleted-domains.ts';
import type { AttemptTimes } from './delivery/deliver-message.ts';
import { createDeliverMessages } from './delivery/deliver-messages.ts';
import { type DeliveryJob, STREAMS } from './delivery/delivery-job.ts';
import type { DeliveryMeasures } from './delivery/delivery-measures.ts';
import type { Destinations } from './delivery/destinations.ts';
import { dispatchMessages } from './delivery/dispatch-messages.ts';
import { findReleased, type HeldMail } from './delivery/find-released.ts';
import { createPacer } from './delivery/pacer.ts';
import { createRecentlyAdded } from './delivery/recently-added.ts';
import { createSenderDomains } from './delivery/sender-domains.ts';
import { sweepDeliveries, type Timetable } from './delivery/sweep-deliveries.ts';
import { checkDomains } from './domains/check-domains.ts';
import { destroyKeys } from './domains/destroy-keys.ts';
import { createDomainTimetable } from './domains/domain-timetable.ts';
import { createFormerKeysOfDomains } from './domains/former-keys-of-domains.ts';
import { createDuty } from './duty.ts';
import { remember } from './remember.ts';
import { judgeSenders, type PageOfCounts } from './reputation/judge-senders.ts';
import { createSendingHolds } from './reputation/sending-holds.ts';
import { keepRunning, type Loop } from './supervise.ts';
import { createSuppressRecipients } from './suppressions/suppress-recipients.ts';
import { createWarmUpHolds } from './warm-ups/warm-up-holds.ts';
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
  /** Where mail goes to the recipients' own servers; absent: one server takes everything. */
  readonly destinations?: Destinations;
  /** The read model's queries, bound to its database. */
  readonly timetable: Timetable;
  /** The same for mail that is kept back. Absent: it goes on when its time comes. */
  readonly heldMail?: HeldMail;
  /** The same for keys whose time is over. */
  readonly expiredKeys: ExpiredKeys;
  /** What became of bulk mail by domain, and how much of it may go wrong. Absent: no domain is judged. */
  readonly senders?: { readonly counts: PageOfCounts; readonly limits: SendingLimits };
  /** Looks at a domain's DNS records by its id. Absent: mail is captured, and there is nothing to look at. */
  readonly checkDomain?: (domainId: string) => Promise<void>;
  /** Mail is captured, and nothing of a domain has to be proved. Absent: it leaves. */
  readonly capturing?: boolean;
  readonly webhookDeliveries: WebhookDeliveries;
  readonly webhookTarget: WebhookTarget;
  readonly times: AttemptTimes;
  /** Default: `WEBHOOK_TIMES`. */
  readonly webhookTimes?: WebhookTimes;
  /** Where recipients reach this service, for links in their mail. */
  publicUrl(): string;
  /** Where undelivered mail comes back to; absent: to its sender. */
  readonly bounceDomain?: string | undefined;
  readonly system: System;
  readonly logger: Logger;
  /** What came of live mail is counted there. Absent: nobody looks. */
  readonly measures?: DeliveryMeasures | undefined;
  /** The workers cannot go on (`domain/is-fatal.ts`): the process has to end, and say so. */
  onFatal(error: unknown): void;
}

/** Everything that runs by itself. */
export interface Workers {
  start(): void;
  /** Finishes or gives back what is in hand, within 10 s. The dependencies stay open: they are their owner's. */
  stop(): Promise<void>;
}

/** Jobs worked at once by a process, of each stream: lone messages, which are a job each, use half of its places in hand. */
const DELIVERY_JOBS = 64;

/** Attempts against servers anywhere: RFC 5321 §4.5.3.2 asks for minutes of patience, and a crash delays by the lease. */
export const REMOTE_ATTEMPT_TIMES: AttemptTimes = { attemptMs: 240_000, leaseMs: 300_000 };
/** Attempts against a server on this machine: what a crash interrupted is tried again soon. */
export const LOCAL_ATTEMPT_TIMES: AttemptTimes = { attemptMs: 10_000, leaseMs: 20_000 };

export const createWorkers = (deps: WorkersDependencies): Workers => {
  const { store, system, queues } = deps;
  const deliveryQueues = {
    transactional: queues.open<DeliveryJob>('deliver-messages'),
    bulk: queues.open<DeliveryJob>('deliver-bulk-messages'),
  };
  const recentlyAdded = createRecentlyAdded(system);
  const acceptedAtHand = createAcceptedAtHand();
  const duty = createDuty();
  const endpoints = createEndpoints();
  const deletedDomains = createDeletedDomains();
  const senderDomains = createSenderDomains(deps);
  const pacer = createPacer(system, deps.logger);
  const sendingHolds = createSendingHolds(system);
  const warmUpHolds = createWarmUpHolds(deps);
  const released =
    deps.heldMail === undefined
      ? undefined
      : findReleased({
          ...{ heldMail: deps.heldMail, sendingHolds, warmUpHolds, deletedDomains },
          isOneServer: deps.destinations === undefined,
        });
  const domainTimetable = createDomainTimetable();
  const formerKeys = createFormerKeysOfDomains();
  const hungry = createHungry();
  const deliveries = createDeliverMessages({
    ...{ ...deps, deletedDomains, senderDomains, acceptedAtHand, recentlyAdded, pacer },
    // What is kept back anyway takes nothing of its domain's day.
    holdOf: (message, recipients) => sendingHolds.of(message) ?? warmUpHolds.of(message, recipients),
    suspend: (suspension) => suspendDestination(deps, suspension),
  });
  const wakeAll = (): void => hungry.add([...endpoints.enabled()].map(({ webhookId }) => webhookId));

  const applyPace = (event: RecordedEvent): void => {
    pacer.apply(event);
    if (event.type === 'DestinationReleased') deliveries.wake(event.data.operator);
  };

  const remembering = remember(store, [
    { category: webhook.category, apply: endpoints.apply, onChange: wakeAll },
    { category: sendingDomain.category, apply: deletedDomains.apply },
    { category: destination.category, apply: applyPace },
    { category: standing.category, apply: sendingHolds.apply },
    { category: warmUp.category, apply: warmUpHolds.apply },
    { category: sendingDomain.category, apply: domainTimetable.apply },
    { category: sendingDomain.category, apply: senderDomains.apply },
    { category: sendingDomain.category, apply: formerKeys.apply },
    { category: domainRecords.category, apply: senderDomains.applyRecords },
  ]);
  const postingWebhooks = createPostWebhooks({ webhookTimes: WEBHOOK_TIMES, ...deps, endpoints, hungry });

  const jobs = {
    'the dispatch of messages': dispatchMessages({
      ...deps,
      queues: deliveryQueues,
      recentlyAdded,
      acceptedAtHand,
      duty,
    }),
    'the sweep of deliveries': sweepDeliveries({
      ...{ ...deps, queues: deliveryQueues, released, recentlyAdded, departures: deliveries, duty },
    }),
    'the memory of webhook endpoints, domains and destinations': remembering.work,
    'the expiry of API keys': expireKeys({ ...deps, duty }),
    'the destruction of former keys': destroyKeys({ ...deps, formerKeys, duty }),
    'the checks of domains': checkDomains({ ...deps, domainTimetable, caughtUp: remembering.caughtUp, duty }),
    ...(deps.senders === undefined
      ? {}
      : { 'the judging of senders': judgeSenders({ ...deps, ...deps.senders, sendingHolds, duty }) }),
    'the recording of webhook deliveries': recordWebhookDeliveries({
      ...{ ...deps, duty, onOwed: hungry.add, react: createSuppressRecipients(deps) },
    }),
    'the posting of webhooks': postingWebhooks.posting,
    'the posting of webhooks to endpoints that may be down': postingWebhooks.probing,
  };
  const loops: Loop[] = [];
  let stopping = false;

  /** Not before it is known which domains are gone, and which are paused: their mail must not leave. */
  const deliver = async (): Promise<void> => {
    await remembering.caughtUp;
    if (stopping) return;
    for (const stream of STREAMS) {
      deliveryQueues[stream].work(deliveries.handlerOf(stream), { concurrency: DELIVERY_JOBS });
    }
  };

  return {
    start: () => {
      void deliver();
      for (const [name, work] of Object.entries(jobs)) loops.push(keepRunning(deps, name, work));
    },
    stop: async () => {
      stopping = true;
      const queuesClosed = STREAMS.map((stream) => deliveryQueues[stream].close());
      await Promise.all([...loops.map((loop) => loop.stop()), ...queuesClosed, deliveries.close()]);
    },
  };
};
