import { suspendDestination } from '../commands/destination.ts';
import type { CommandContext } from '../commands/execute.ts';
import { suppressRecipient } from '../commands/suppression.ts';
import type { Plans } from '../domain/billing/plan.ts';
import { destination } from '../domain/destination/suspension.ts';
import { inboundRoute } from '../domain/inbound/route.ts';
import type { Environment } from '../domain/kernel/environment.ts';
import type { EventStore, RecordedEvent } from '../domain/kernel/event-store.ts';
import type { Message } from '../domain/message/message.ts';
import type { Contents } from '../domain/ports/contents.ts';
import type { MailTransport } from '../domain/ports/mail.ts';
import type { Queues } from '../domain/ports/queue.ts';
import type { Secrets } from '../domain/ports/secrets.ts';
import type { WebhookDeliveries, WebhookTarget } from '../domain/ports/webhooks.ts';
import { type ReputationLimits, reputation } from '../domain/reputation/reputation.ts';
import { domainRecords } from '../domain/sending-domain/domain-records.ts';
import { sendingDomain } from '../domain/sending-domain/sending-domain.ts';
import { isSuppressing } from '../domain/suppression/suppression.ts';
import type { TrackingKeys } from '../domain/tracking/tracking.ts';
import { warmUp } from '../domain/warm-up/warm-up.ts';
import { webhook } from '../domain/webhook/webhook.ts';
import { type Logger, mapConcurrently, type System } from '../lib/async/async.ts';
import { type AuditWork, auditJobs } from './audit/audit-jobs.ts';
import { type BillingQueries, closePeriods, watchQuotas } from './close-periods.ts';
import type { AttemptTimes, DeliveryMetrics } from './delivery/claim.ts';
import { createDestinationLimits } from './delivery/destination-limits.ts';
import { createDestinationQueues } from './delivery/destination-queues.ts';
import { createAcceptedCache, createShare, dispatchMessages, type WorkerPlace } from './delivery/dispatch.ts';
import {
  createRecentlyQueued,
  type DeliveryQueues,
  type Destinations,
  MESSAGE_CLASSES,
  openDeliveryQueues,
} from './delivery/due.ts';
import { createLogWatch } from './delivery/log-watch.ts';
import { createFindReleased, type HeldMail } from './delivery/released.ts';
import { createSuspensionHolds } from './delivery/suspensions.ts';
import { sweepDeliveries, type Timetable } from './delivery/sweep.ts';
import { checkDomains, createCheckSchedule, createFormerKeys, destroyKeys } from './domains/check-domains.ts';
import { createInboundRoutes, type InboundRoutes } from './domains/inbound-routes.ts';
import { createSendingDomains, type SendingDomains } from './domains/sending-domains.ts';
import { type ExpiredKeys, expireKeys } from './expire-keys.ts';
import { createAuditors, createInMemoryProjections, createOrganizations } from './in-memory-projections.ts';
import { type ForwardMail, forwardMail } from './inbound/forward-mail.ts';
import { createSendingHolds, evaluateReputation, type PageOfCounts } from './reputation.ts';
import { type ErasePeople, erasePeople } from './retention/erase-people.ts';
import { type ExpireContents, expireContents } from './retention/expire-contents.ts';
import { createSendNotices } from './send-notices.ts';
import { createLeadership, type Loop, supervise, type Work } from './supervise.ts';
import { createWarmUpHolds } from './warm-ups.ts';
import { createFormerSecrets, destroySecrets } from './webhooks/destroy-secrets.ts';
import { createEndpoints, createReadyEndpoints } from './webhooks/endpoints.ts';
import { WEBHOOK_TIMES, type WebhookTimes } from './webhooks/post-once.ts';
import { createPauseWebhooks, createPostWebhooks, type PostWebhooks } from './webhooks/post-webhooks.ts';
import {
  distributeEvents,
  type EventsReaction,
  inTurn,
  type ReplayWebhooks,
  recordWebhookDeliveries,
  replayWebhooks,
} from './webhooks/record-webhook-deliveries.ts';

export interface WorkersDependencies extends AuditWork {
  readonly store: EventStore;
  readonly contents: Contents;
  readonly secrets: Secrets;
  readonly queues: Queues;
  /** Finds the other workers, if each works the jobs that it queues. Absent: the queue distributes them. */
  readonly workerPlace?: (() => Promise<WorkerPlace>) | undefined;
  /** `live`: as configured; `test`: simulated. */
  readonly transports: Readonly<Record<Environment, MailTransport>>;
  /** Mail goes to the recipients' own servers. Absent: one server takes everything. */
  readonly destinations?: Destinations;
  /** Queries of the read model of due deliveries. */
  readonly timetable: Timetable;
  /** Queries for held mail. Absent: held mail is checked again at its own times only. */
  readonly heldMail?: HeldMail;
  /** True for mail that may have left before a restore. Absent: no such mail. */
  readonly isHeldAfterRestore?: (message: Message) => boolean;
  /** Queries of the read model of billing, and the operator's plans. Absent: nothing is billed. */
  readonly billing?: BillingQueries;
  /** Receives the number of organizations that are not billed because their count is wrong. */
  readonly onBillingStopped?: ((organizations: number) => void) | undefined;
  readonly plans?: Plans | undefined;
  /** Query for keys that have expired. */
  readonly expiredKeys: ExpiredKeys;
  /** Retention, and the status of messages. Absent: everything is kept. */
  readonly expiring?: Pick<ExpireContents, 'retention' | 'messageStatuses' | 'onExpired'>;
  /** Dependencies of erasures. Absent: erasures wait. */
  readonly erasing?: Pick<
    ErasePeople,
    'retention' | 'unfinished' | 'messagesTo' | 'inboundOf' | 'endpointsOf' | 'caughtUp' | 'roundEveryMs'
  >;
  /** Outcomes of bulk mail by sender, and the limits of its reputation. Absent: reputation is not evaluated. */
  readonly senders?: { readonly counts: PageOfCounts; readonly limits: ReputationLimits };
  /** Checks a domain's DNS records by its id. Absent: mail is captured, so domains are not checked. */
  readonly checkDomain?: (domainId: string) => Promise<void>;
  /** Mail is captured, and domains need no verification. Absent: mail is sent. */
  readonly capturing?: boolean;
  /** Dependencies of forwarding received mail. Absent: nothing is forwarded. */
  readonly forwarding?: ForwardMail['forwarding'];
  readonly webhookDeliveries: WebhookDeliveries;
  /** Pages of the event feed, for replays to webhooks. Absent: they wait. */
  readonly feed?: ReplayWebhooks['feed'];
  readonly serializeEvents: PostWebhooks['serializeEvents'];
  readonly serializeMail: PostWebhooks['serializeMail'];
  readonly webhookTarget: WebhookTarget;
  readonly times: AttemptTimes;
  /** Default: `WEBHOOK_TIMES`. */
  readonly webhookTimes?: WebhookTimes;
  /** Make the tokens of tracked links in mail. */
  readonly trackingKeys: TrackingKeys;
  /** Base URL of this service for recipients, for links in their mail. */
  publicUrl(): string;
  /** Domain that receives bounces; absent: bounces go to the sender. */
  readonly bounceDomain?: string | undefined;
  readonly system: System;
  readonly logger: Logger;
  /** Counts the outcomes of live mail. Absent: nothing is counted. */
  readonly metrics?: DeliveryMetrics | undefined;
  /** The workers cannot go on (`isFatal`): the process has to end. */
  onFatal(error: unknown): void;
}

/** All background jobs of a process. */
export interface Workers {
  start(): void;
  /** Finishes or gives back what is under way, within 10 s. The dependencies stay open. */
  stop(): Promise<void>;
  /** Whether it does what one process does for all. */
  isLeader(): boolean;
  readonly queues: DeliveryQueues;
  /** Domains that receive mail, and their routes; null until all are known. */
  receivers(): (Pick<SendingDomains, 'receiverOf' | 'verifiedOf'> & Pick<InboundRoutes, 'routeOf'>) | null;
}

/** Jobs taken at once by a process, of each message class. A job ends when its messages wait for their destination. */
const DELIVERY_JOBS = 64;

/** Attempts against servers anywhere: RFC 5321 §4.5.3.2 asks for minutes of patience, and a crash delays by the lease. */
export const REMOTE_ATTEMPT_TIMES: AttemptTimes = { attemptMs: 240_000, leaseMs: 300_000 };
/** Attempts against a server on this machine: what a crash interrupted is tried again soon. */
export const LOCAL_ATTEMPT_TIMES: AttemptTimes = { attemptMs: 10_000, leaseMs: 20_000 };

/** Suppressions share queries and commits; more at once would delay those of messages. */
const SUPPRESSIONS_AT_ONCE = 32;

/** Suppresses addresses that bounced for good, complained or unsubscribed. */
export const createSuppressRecipients =
  (context: Pick<CommandContext, 'store' | 'contents' | 'system'>): EventsReaction =>
  async (events) => {
    const suppressing = events.filter(isSuppressing);
    await mapConcurrently(suppressing, { system: context.system, concurrency: SUPPRESSIONS_AT_ONCE }, (event) =>
      suppressRecipient(context, event),
    );
  };

export const createWorkers = (deps: WorkersDependencies): Workers => {
  const { store, system, queues } = deps;
  const deliveryQueues = openDeliveryQueues(queues);
  const leadership = createLeadership();
  const { share, jobs: shareJobs } = createShare({ ...deps, leadership });
  const formerSecrets = createFormerSecrets();
  const organizations = createOrganizations();
  const auditors = createAuditors();
  const shared = {
    ...deps,
    leadership,
    share,
    recentlyQueued: createRecentlyQueued(system),
    acceptedCache: createAcceptedCache(),
    logWatch: createLogWatch(store, system),
    sendingDomains: createSendingDomains(deps),
    destinationLimits: createDestinationLimits(system, deps.logger),
    sendingHolds: createSendingHolds(system),
    suspensionHolds: createSuspensionHolds(organizations.organizations, system),
    warmUpHolds: createWarmUpHolds(deps),
    checkSchedule: createCheckSchedule(),
    formerKeys: createFormerKeys(),
    formerSecrets,
    endpoints: createEndpoints(formerSecrets.apply),
    readyEndpoints: createReadyEndpoints(),
    organizations: organizations.organizations,
    auditors: auditors.auditors,
  };
  const { sendingDomains, destinationLimits, endpoints, readyEndpoints } = shared;
  const { sendingHolds, suspensionHolds, warmUpHolds } = shared;
  const destinationQueues = createDestinationQueues({
    ...shared,
    // Mail that is held for another reason uses no quota.
    holdOf: (message, recipients) =>
      suspensionHolds.of(message) ?? sendingHolds.of(message) ?? warmUpHolds.of(message, recipients),
    suspend: (suspension) => suspendDestination(deps, suspension),
  });
  const released =
    deps.heldMail &&
    createFindReleased({ ...shared, heldMail: deps.heldMail, isOneServer: deps.destinations === undefined });

  const applyDestination = (event: RecordedEvent): void => {
    destinationLimits.apply(event);
    if (event.type === 'DestinationReleased') destinationQueues.review(event.data.operator);
  };
  const claimForAll = (): void => readyEndpoints.add(endpoints.enabled());

  const inboundRoutes = createInboundRoutes();
  const projections = createInMemoryProjections(store, [
    { category: webhook.category, apply: endpoints.apply, onChange: claimForAll },
    { category: sendingDomain.category, apply: sendingDomains.apply },
    { category: domainRecords.category, apply: sendingDomains.applyRecords },
    { category: inboundRoute.category, apply: inboundRoutes.apply },
    { category: sendingDomain.category, apply: shared.checkSchedule.apply },
    { category: sendingDomain.category, apply: shared.formerKeys.apply },
    { category: destination.category, apply: applyDestination },
    { category: reputation.category, apply: sendingHolds.apply },
    { category: warmUp.category, apply: warmUpHolds.apply },
    organizations,
    auditors,
  ]);
  const webhooks = createPostWebhooks({ webhookTimes: WEBHOOK_TIMES, ...shared });

  const jobs: Record<string, Work> = {
    'in-memory projections': projections.work,
    'watch of the log': shared.logWatch.work,
    'dispatch of messages': dispatchMessages({ ...shared, queues: deliveryQueues }),
    'sweep of deliveries': sweepDeliveries({ ...shared, queues: deliveryQueues, released, destinationQueues }),
    'expiry of API keys': expireKeys(shared),
    'destruction of former keys': destroyKeys(shared),
    'destruction of former webhook secrets': destroySecrets(shared),
    'checks of domains': checkDomains({ ...shared, caughtUp: projections.caughtUp }),
    'recording of webhook deliveries': recordWebhookDeliveries({
      ...shared,
      onOwed: readyEndpoints.add,
      react: inTurn([
        createSuppressRecipients(deps),
        createSendNotices({ ...shared, caughtUp: projections.caughtUp }),
        createPauseWebhooks(deps),
      ]),
    }),
    'distribution of webhook events': distributeEvents(shared),
    'posting of webhooks': webhooks.posting,
    'probing of webhook endpoints': webhooks.probing,
    ...shareJobs,
  };
  if (deps.feed !== undefined) jobs['replays to webhooks'] = replayWebhooks({ ...shared, feed: deps.feed });
  if (deps.forwarding !== undefined) {
    const { forwarding } = deps;
    jobs['forwarding of received mail'] = forwardMail({ ...shared, forwarding, caughtUp: projections.caughtUp });
  }
  if (deps.senders !== undefined) {
    jobs['evaluation of sender reputation'] = evaluateReputation({ ...shared, ...deps.senders });
  }
  if (deps.expiring !== undefined) {
    jobs['expiry of contents'] = expireContents({ ...shared, ...deps.expiring, caughtUp: projections.caughtUp });
  }
  if (deps.erasing !== undefined) {
    const { caughtUp } = deps.erasing;
    const allCaughtUp = async (): Promise<boolean> => {
      await projections.caughtUp;
      return caughtUp();
    };
    jobs['erasure of people'] = erasePeople({ ...shared, ...deps.erasing, inboundRoutes, caughtUp: allCaughtUp });
  }
  if (deps.billing !== undefined) {
    jobs['closing of billing periods'] = closePeriods({
      ...shared,
      billing: deps.billing,
      onStopped: deps.onBillingStopped,
    });
    jobs['watch of quotas'] = watchQuotas({ ...shared, billing: deps.billing });
  }
  Object.assign(jobs, auditJobs({ ...shared, caughtUp: projections.caughtUp }, deps));
  const loops: Loop[] = [];
  let stopping = false;
  let knowsAll = false;
  projections.caughtUp.then(() => (knowsAll = true)).catch(() => undefined); // it fails only if the service ends first

  /** Waits for the projections: mail of a deleted domain or a paused sender must not leave. */
  const startDelivery = async (): Promise<void> => {
    await projections.caughtUp;
    if (stopping) return;
    for (const messageClass of MESSAGE_CLASSES) {
      const handler = destinationQueues.handlerOf(messageClass);
      deliveryQueues[messageClass].work(handler, { concurrency: DELIVERY_JOBS });
    }
  };

  return {
    isLeader: leadership.isLeader,
    queues: deliveryQueues,
    receivers: () => (knowsAll ? { ...sendingDomains, ...inboundRoutes } : null),
    start: () => {
      startDelivery().catch(() => undefined); // it fails only if the service ends first
      for (const [name, work] of Object.entries(jobs)) loops.push(supervise(deps, name, work));
    },
    stop: async () => {
      stopping = true;
      const queuesClosed = MESSAGE_CLASSES.map((messageClass) => deliveryQueues[messageClass].close());
      await Promise.all([...loops.map((loop) => loop.stop()), ...queuesClosed, destinationQueues.close()]);
    },
  };
};
