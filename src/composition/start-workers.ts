import type { Registry } from 'prom-client';
import { openRestoreHold } from '../adapters/backup/restore.ts';
import { createForwardedMails } from '../adapters/inbound/forwarded-mails.ts';
import { createInboundLimits } from '../adapters/inbound/inbound-limits.ts';
import {
  createInboundReportReader,
  createInboundReportTask,
  createPostmaster,
  type Postmaster,
} from '../adapters/inbound-reports/receive-inbound-reports.ts';
import { readPostgresOrigins } from '../adapters/request-origins.ts';
import { createPostgresRetention } from '../adapters/retention/postgres.ts';
import { createPostgresWebhookDeliveries } from '../adapters/webhook-deliveries/postgres.ts';
import { createHttpWitnesses } from '../adapters/witnesses.ts';
import { withoutForeign } from '../commands/foreign-events.ts';
import type { ReceivingPorts } from '../commands/inbound/receive-mail.ts';
import { checkDomainWhenDue } from '../commands/sending-domain/check-domain.ts';
import type { Config } from '../config.ts';
import { INBOUND_TEST_DOMAIN } from '../domain/inbound/inbound.ts';
import { type ReturnSecrets, readForwardReturnAddress } from '../domain/inbound/return-address.ts';
import { clientNetworkOf } from '../domain/kernel/addresses.ts';
import type { RateLimiter } from '../domain/kernel/rate-limits.ts';
import type { MailTransport } from '../domain/ports/mail.ts';
import { createInboundPosts } from '../http/compat/inbound-posts.ts';
import { serializePosts } from '../http/compat/webhook-formats.ts';
import { retryWhileAway } from '../lib/async/async.ts';
import type { MailParser } from '../lib/mime/mime.ts';
import type { KeptSessionLock } from '../lib/postgres/postgres.ts';
import { startSmtpListener } from '../lib/smtp/smtp.ts';
import type { Policy } from '../lib/transparency/transparency.ts';
import { checkTrees } from '../projections/audit/check/check-trees.ts';
import { createBillingRecount } from '../projections/billing-recount.ts';
import { createReadModels } from '../projections/read-models.ts';
import { withAbsentSuppressions } from '../projections/suppressions.ts';
import {
  createWorkers,
  LOCAL_ATTEMPT_TIMES,
  REMOTE_ATTEMPT_TIMES,
  type Workers,
  type WorkersDependencies,
} from '../workers/create-workers.ts';
import { createRecordInboundReport, RETURNED_OUTCOMES } from '../workers/record-inbound-report.ts';
import { workerPlaceOf } from './instances.ts';
import { listenRefused, type RoleEvents, type RunningRole } from './lifecycle.ts';
import { measureQueues, measureWebhookPosts } from './measure-service.ts';
import { type Engines, type ServiceOverrides, withOwnConnections } from './open-engines.ts';
import { openInboundMail } from './open-inbound.ts';
import { openMail } from './open-mail.ts';
import { auditCheckNotes, noteAuditCheck, noteWitnessPolicy } from './open-operator.ts';
import { openQueues } from './open-queues.ts';
import { askedWitnesses, followRenewals, readTls, readWitnessPolicy } from './read-service-config.ts';
import {
  countOutcomes,
  measureAudit,
  measureBillingStopped,
  measureDeliveries,
  measureExpiry,
} from './start-metrics.ts';

interface InboundReportParts {
  /** Transport of live mail, which forwards mail to the postmaster. */
  readonly transport: MailTransport;
  readonly receivers: Workers['receivers'];
  readonly receiving: ReceivingPorts;
  readonly openRateLimiter: () => Promise<RateLimiter>;
  /** Absent: no metrics. */
  readonly registry?: Registry | undefined;
}

/** Keys of the installation, by which return addresses of forwarded mail are proved. */
const returnSecrets = ({ trackingKeys: [current, ...earlier] }: Pick<Engines, 'trackingKeys'>): ReturnSecrets => [
  current.bytes,
  ...earlier.map(({ bytes }) => bytes),
];

interface ListenerPlace {
  /** Domain of the addresses for reports. */
  readonly domain: string;
  readonly host: string;
  readonly port: number;
}

/** null: nothing is received. */
const listenerPlace = ({ bounceDomain, bouncePort, host, mail }: Config): ListenerPlace | null => {
  if (bounceDomain !== undefined) return { domain: bounceDomain, host, port: bouncePort };
  return mail.kind === 'capture' ? { domain: INBOUND_TEST_DOMAIN, host: '127.0.0.1', port: 0 } : null;
};

/**
 * Receives bounces, complaints and mail for domains when `BOUNCE_DOMAIN` is set, and mail to try it on a free port of this
 * machine where mail is captured. @returns where it listens, in sentences.
 * @throws {StartRefused} the certificate cannot be used, or the address cannot be listened on.
 */
const startInboundReport = async (
  config: Config,
  engines: Engines,
  { transport, receivers, receiving, openRateLimiter, registry }: InboundReportParts,
): Promise<readonly string[]> => {
  const { postmaster, tlsFiles } = config;
  const place = listenerPlace(config);
  if (place === null) return [];
  const { domain, host, port } = place;
  const { context, system, logger, closers } = engines;
  const tls = await readTls(tlsFiles);
  const reader = closers.keep('inbound report reader', createInboundReportReader());
  const count = countOutcomes(registry, {
    name: 'outbox_inbound_reports_total',
    help: 'Inbound reports by outcome',
    outcomes: RETURNED_OUTCOMES,
  });
  const take = createRecordInboundReport({ context, system, logger, count });
  const passing = (address: string): Postmaster => {
    const { pass } = createPostmaster({ domain, address, transport, system, logger });
    return { pass: (raw, from) => pass(raw, from).then(() => count('postmaster')) };
  };
  const overLimit = createInboundLimits(await openRateLimiter(), {
    perOrganization: config.inboundMax,
    perSender: config.inboundSenderMax,
  });
  const task = createInboundReportTask({
    domain,
    take,
    reader,
    forwardedBy: (localPart) => readForwardReturnAddress(returnSecrets(engines), localPart, system.now()),
    inbound: openInboundMail(engines, { receivers, receiving, overLimit }),
    logger,
    postmaster: postmaster === undefined ? undefined : passing(postmaster),
  });
  const listener = await startSmtpListener(task, {
    host,
    port,
    tls,
    networkOf: clientNetworkOf,
    logger,
  }).catch((error: unknown) => {
    throw listenRefused(error, { host, port, variable: 'BOUNCE_PORT' });
  });
  closers.add('inbound report listener', listener.close);
  const endRenewals = followRenewals({ tlsFiles, logger }, listener.useTls);
  closers.add('certificate renewal of the inbound report listener', async () => endRenewals());
  logger.info({ port: listener.port }, 'receiving bounces and complaints, and mail for domains');
  return engines.context.capturing
    ? [`Mail by SMTP to any address at ${INBOUND_TEST_DOMAIN} is received at ${host}:${listener.port}`]
    : [];
};

const SECOND_MS = 1_000;

/**
 * Every night a check reads what is new, and each week everything, half a day early rather than a day late. Longer leaves
 * changes of old events unnoticed, shorter reads a large log for hours.
 */
const FULL_CHECK_AFTER_MS = 6.5 * 86_400_000;

/** Rest after each page of the log, in times of what it took: a fifth of a processor's time, next to mail and requests. */
const CHECK_REST_SHARE = 4;

/** The nightly check reads the log, and stores the position it reached in a vault row for the next process. */
export const nightlyCheck = (
  hour: number,
  {
    pool: db,
    store,
    system,
    context,
    vaultOn,
  }: Pick<Engines, 'pool' | 'store' | 'system' | 'vaultOn'> & {
    readonly context: Pick<Engines['context'], 'contents' | 'secrets'>;
  },
  { metrics, policy }: { readonly metrics: ReturnType<typeof measureAudit>; readonly policy: Policy },
): NonNullable<WorkersDependencies['auditCheck']> => ({
  hour,
  check: async (signal) => {
    const { contents } = context;
    const origins = readPostgresOrigins(db);
    const notes = auditCheckNotes(vaultOn(db).secrets);
    const parts = { db, store, system, contents, origins, policy, notes, fullAfterMs: FULL_CHECK_AFTER_MS };
    const begunMs = system.monotonicMs();
    const checked = await checkTrees({ ...parts, restShare: CHECK_REST_SHARE, signal });
    metrics?.took(system.monotonicMs() - begunMs);
    await noteAuditCheck(context.secrets, system.now(), checked);
    return checked;
  },
  onChecked: metrics?.onChecked,
});

export interface OpenedWorkers extends RunningRole {
  /** Sentences that name the addresses it listens on. */
  readonly places: readonly string[];
  /** Nothing is sent before. */
  begin(): void;
  readonly isLeader: Workers['isLeader'];
  readonly queues: Workers['queues'];
}

/** Opens delivery, webhooks and the other background jobs. @throws {StartRefused} */
export const openWorkers = async (
  config: Config,
  shared: Engines,
  { onFatal }: RoleEvents,
  {
    publicUrl,
    receiving,
    mailParser,
    openRateLimiter,
    registry,
    overrides,
    session,
  }: Pick<WorkersDependencies, 'publicUrl'> & {
    readonly receiving: ReceivingPorts;
    readonly mailParser: MailParser;
    readonly openRateLimiter: () => Promise<RateLimiter>;
    readonly registry?: Registry | undefined;
    readonly overrides: ServiceOverrides;
    readonly session: Pick<KeptSessionLock, 'query'>;
  },
): Promise<OpenedWorkers> => {
  const engines = withOwnConnections(shared, 'workers');
  const { context, pool, system, logger, closers, decorate, trackingKeys } = engines;
  // In EventStoreDB each stream is a call of its own.
  const store =
    config.eventStoreUrl === undefined
      ? engines.store
      : withAbsentSuppressions({ store: engines.store, db: pool, logger });
  const own = withoutForeign(store, logger);
  const queues = closers.keep('queues', decorate.queues(await openQueues(config, engines)));
  const mail = await openMail(config, engines);
  closers.add('mail transport', mail.live.close);
  closers.add('simulated mail transport', mail.test.close);
  const readModels = createReadModels({ pool, store, system, awaited: engines.awaited });
  const restoreHold = closers.keep(
    'hold after a restore',
    await retryWhileAway({ system }, () => openRestoreHold(pool, system, logger)),
  );
  const retention = decorate.retention(createPostgresRetention({ pool, codec: engines.contentsCodec }));
  const policy = await readWitnessPolicy(config.auditWitnesses);
  await noteWitnessPolicy(context.secrets, policy);
  const witnesses = createHttpWitnesses();
  const auditMetrics = measureAudit(registry);
  closers.add('witnesses', witnesses.close);
  const workers = createWorkers({
    store: own,
    contents: context.contents,
    secrets: context.secrets,
    webhookTarget: measureWebhookPosts(registry, context.webhookTarget),
    serializeEvents: serializePosts,
    serializeMail: createInboundPosts({ ...context, store: own, mailParser, publicUrl }),
    queues,
    workerPlace: workerPlaceOf(config, session),
    system,
    logger,
    onFatal,
    publicUrl,
    trackingKeys,
    // Captured mail never bounces, and the inbox assigns mail to organizations by the sender's domain.
    bounceDomain: config.mail.kind === 'capture' ? undefined : config.bounceDomain,
    transports: { live: decorate.transport(mail.live), test: mail.test },
    ...(mail.destinations === undefined ? {} : { destinations: mail.destinations }),
    timetable: readModels.deliveries,
    heldMail: readModels.deliveries,
    isHeldAfterRestore: restoreHold.holds,
    billing: {
      lastInvoices: readModels.billing.lastInvoices,
      recipients: readModels.billing.recipients,
      count: readModels.billing.count,
      upTo: (position) => readModels.waitFor(['billing'], position),
      recount: (from) => createBillingRecount(own, from),
    },
    onBillingStopped: measureBillingStopped(registry),
    plans: context.plans,
    audit: {
      trees: readModels.audit,
      intervalMs: config.auditInterval * SECOND_MS,
      witnesses: askedWitnesses(policy),
      way: witnesses,
      onSigned: auditMetrics?.onSigned,
    },
    ...(config.auditCheckHour === null
      ? {}
      : { auditCheck: nightlyCheck(config.auditCheckHour, engines, { metrics: auditMetrics, policy }) }),
    expiredKeys: readModels.apiKeys.expired,
    expiring: {
      retention,
      messageStatuses: readModels.messages.statuses,
      onExpired: measureExpiry(registry),
    },
    erasing: {
      retention,
      unfinished: readModels.erasures.unfinished,
      messagesTo: readModels.messages.to,
      inboundOf: readModels.inbound.ofPerson,
      endpointsOf: readModels.webhooks.endpointsOf,
      caughtUp: async () => readModels.waitFor(['messages', 'inbound', 'webhooks', 'erasures'], await store.head()),
      roundEveryMs: overrides.erasureRoundMs,
    },
    forwarding: {
      due: readModels.inbound.dueForwards,
      mails: createForwardedMails(),
      secrets: returnSecrets(engines),
    },
    feed: readModels.events.page,
    senders: { counts: readModels.reputation.page, limits: config.sendingLimits },
    capturing: context.capturing,
    metrics: measureDeliveries(registry, mail.live.sessions),
    ...(context.capturing ? {} : { checkDomain: (domainId) => checkDomainWhenDue(context, domainId) }),
    webhookDeliveries: decorate.webhookDeliveries(createPostgresWebhookDeliveries({ pool })),
    times: overrides.times ?? (mail.local ? LOCAL_ATTEMPT_TIMES : REMOTE_ATTEMPT_TIMES),
    ...(overrides.webhookTimes === undefined ? {} : { webhookTimes: overrides.webhookTimes }),
  });
  measureQueues(registry, workers.queues);
  const places = await startInboundReport(config, engines, {
    transport: mail.live,
    receivers: workers.receivers,
    receiving,
    openRateLimiter,
    registry,
  });
  return { places, begin: workers.start, stop: workers.stop, isLeader: workers.isLeader, queues: workers.queues };
};
