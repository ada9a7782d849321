import type { Server } from 'node:net';
import type { Registry } from 'prom-client';
import { createAnalyzer } from '../adapters/html/analyzer.ts';
import { createHtmlTracker } from '../adapters/html/tracked-links.ts';
import { createPostgresInbox } from '../adapters/inbox/postgres.ts';
import { createMessageSources } from '../adapters/mail/compose.ts';
import { isLoopback } from '../adapters/mail/smarthost.ts';
import { createPostgresMemberViews } from '../adapters/member-views.ts';
import { createPostgresRefusedRequests } from '../adapters/refused-requests.ts';
import { createPostgresRequestOrigins } from '../adapters/request-origins.ts';
import { createPostgresRetention } from '../adapters/retention/postgres.ts';
import { createPostgresUsageMarks } from '../adapters/usage-marks.ts';
import { createPostgresWebhookDeliveries } from '../adapters/webhook-deliveries/postgres.ts';
import { withoutForeign } from '../commands/foreign-events.ts';
import type { ReceivingPorts } from '../commands/inbound/receive-mail.ts';
import { type CountUsed, createSendingQuotas } from '../commands/message/enforce-quota.ts';
import type { Config } from '../config.ts';
import { requirePeriod } from '../domain/billing/plan.ts';
import { clientNetworkOf } from '../domain/kernel/addresses.ts';
import type { EventStore } from '../domain/kernel/event-store.ts';
import type { RateLimiter } from '../domain/kernel/rate-limits.ts';
import type { IdentityProvider } from '../domain/member/session.ts';
import type { HttpDependencies, SubmissionServer } from '../http/dependencies.ts';
import { createLiveFeed } from '../http/resources/events/live-feed.ts';
import { buildServer } from '../http/server.ts';
import { StartRefused } from '../lib/async/async.ts';
import { createHtmlChecker, createTextAlternatives } from '../lib/html/html.ts';
import type { MailParser } from '../lib/mime/mime.ts';
import { type SmtpListener, startSmtpListener } from '../lib/smtp/smtp.ts';
import { createLiquidRenderer, createTemplateCompiler } from '../lib/templates/templates.ts';
import { withCopyForFolding } from '../projections/live-views.ts';
import { createReadModels, type ReadModels } from '../projections/read-models.ts';
import { createSubmission } from '../submission/submission.ts';
import type { SubmissionContext } from '../submission/submit-message.ts';
import { version } from './instances.ts';
import { baseUrlOf, type ListenAddress, listenRefused, type RunningRole } from './lifecycle.ts';
import { measureStreams } from './measure-service.ts';
import { type Engines, openEventStore } from './open-engines.ts';
import { openDestinations } from './open-mail.ts';
import {
  followRenewals,
  isUnspecified,
  readTls,
  readWitnessPolicy,
  TLS_PORT_NEEDS_FILES,
} from './read-service-config.ts';
import { readinessProbes } from './readiness.ts';
import { healthParts } from './service-health.ts';
import type { OpenedWorkers } from './start-workers.ts';
import type { EventLoopWatch } from './watch-event-loop.ts';

/** Open files that this process may have. The report takes some 40 ms: ask once, at the start. */
export const descriptorLimit = (): number => {
  // Node has `excludeNetwork`, but no type for it.
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  const before = report.excludeNetwork;
  report.excludeNetwork = true; // the report would look up names
  const { userLimits } = report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft: number | string } };
  };
  report.excludeNetwork = before;
  const limit = Number(userLimits?.open_files?.soft);
  return Number.isNaN(limit) ? Number.POSITIVE_INFINITY : limit;
};

interface RunningSubmission extends RunningRole {
  readonly port: number | undefined;
  readonly tlsPort: number | undefined;
  /** The servers as clients reach them. */
  readonly servers: readonly SubmissionServer[];
}

type Variable = Extract<ListenAddress['variable'], `SUBMISSION_${string}`>;

interface SubmissionAddress {
  readonly host: string;
  readonly publicUrl: string | undefined;
  readonly hasTls: boolean;
  readonly port: number | undefined;
  readonly tlsPort: number | undefined;
}

/** Host name under which clients reach this address. Without a certificate it is loopback, because other clients are refused. */
const hostOffered = ({ host, publicUrl, hasTls }: Omit<SubmissionAddress, 'port' | 'tlsPort'>): string | null => {
  const own = isUnspecified(host) ? '127.0.0.1' : host;
  if (!hasTls) return isLoopback(own) ? own : null;
  return publicUrl === undefined || isLoopback(host) ? own : new URL(publicUrl).hostname;
};

/** Servers that clients can use. */
export const serversOffered = ({ port, tlsPort, ...offered }: SubmissionAddress): readonly SubmissionServer[] => {
  const host = hostOffered(offered);
  if (host === null) return [];
  const asked = offered.hasTls ? 'starttls' : 'none';
  const listening = [
    { port, tls: asked },
    { port: tlsPort, tls: 'implicit' },
  ] as const;
  return listening.flatMap(({ port: at, tls }) => (at === undefined ? [] : [{ host, port: at, tls }]));
};

/**
 * Accepts mail over SMTP when `SUBMISSION_PORT` or `SUBMISSION_TLS_PORT` is set.
 * @throws {StartRefused} the certificate cannot be used, or an address cannot be listened on.
 */
export const startSubmission = async (
  { submissionPort, submissionTlsPort, host, publicUrl, ehloName, tlsFiles }: Config,
  context: Omit<SubmissionContext, 'mailParser'>,
): Promise<RunningSubmission | undefined> => {
  if (submissionPort === undefined && submissionTlsPort === undefined) return undefined;
  const { logger } = context.deps;
  const tls = await readTls(tlsFiles);
  if (submissionTlsPort !== undefined && tls === undefined) {
    throw new StartRefused(TLS_PORT_NEEDS_FILES);
  }
  const submission = createSubmission(
    { ...context, mailParser: context.deps.mailParser },
    { hasTls: tls !== undefined, name: ehloName },
  );

  const listen = async (port: number | undefined, variable: Variable): Promise<SmtpListener | undefined> => {
    if (port === undefined) return undefined;
    const tlsBegins = variable === 'SUBMISSION_TLS_PORT' ? 'implicit' : 'asked';
    const listener = await startSmtpListener(submission, {
      host,
      port,
      tls,
      tlsBegins,
      networkOf: clientNetworkOf,
      logger,
    }).catch((error: unknown) => {
      throw listenRefused(error, { host, port, variable });
    });
    logger.info({ port: listener.port, tls: tlsBegins }, 'accepting mail over SMTP');
    return listener;
  };

  const plain = await listen(submissionPort, 'SUBMISSION_PORT');
  const implicit = await listen(submissionTlsPort, 'SUBMISSION_TLS_PORT').catch(async (error: unknown) => {
    await plain?.close();
    throw error;
  });
  const listeners = [plain, implicit].filter((each) => each !== undefined);
  const endRenewals = followRenewals({ tlsFiles, logger }, (renewed) => {
    for (const { useTls } of listeners) useTls(renewed);
  });
  const ports = { port: plain?.port, tlsPort: implicit?.port };
  return {
    ...ports,
    servers: serversOffered({ host, publicUrl, hasTls: tls !== undefined, ...ports }),
    stop: async () => {
      endRenewals();
      await Promise.all(listeners.map(({ close }) => close()));
    },
  };
};

export interface RunningApi extends RunningRole {
  readonly baseUrl: string;
  /** Both absent: no submission over SMTP. */
  readonly submissionPort: number | undefined;
  readonly submissionTlsPort: number | undefined;
}

/** The key cache reads on connections of its own, so that other work cannot delay it. EventStoreDB's client has one for all. */
const openKeyStore = async (
  { eventStoreUrl }: Config,
  { context, store, pool, logGuard, ...engines }: Engines,
): Promise<EventStore> => {
  if (eventStoreUrl !== undefined) return withoutForeign(store, engines.logger);
  const keyStore = engines.closers.keep(
    'key store',
    await openEventStore(undefined, { ...engines, contents: context.contents }),
  );
  const copied = withCopyForFolding({ store: logGuard.guard(keyStore), db: pool, logger: engines.logger });
  return withoutForeign(copied, engines.logger);
};

const openIdentityProvider = async (config: Config, { system, logger }: Engines): Promise<IdentityProvider | null> => {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret } = config;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return null;
  const { createOpenIdConnect } = await import('../adapters/openid-connect.ts');
  return createOpenIdConnect({ issuer, clientId, clientSecret, system, logger });
};

/** Counts what the log holds at the time of the call. */
export const countUsed =
  ({ waitFor, billing }: ReadModels, { head }: Pick<EventStore, 'head'>): CountUsed =>
  async (organizationId, month) => {
    if (!(await waitFor(['billing'], await head()))) return null;
    // Outside the share of lists: what an organization reads does not delay what it sends.
    const { days } = await billing.count({ organizationId, ...requirePeriod(month) });
    return days.values().reduce((sum, { recipients }) => sum + recipients, 0);
  };

interface ApiOptions {
  readonly receiving: ReceivingPorts;
  readonly mailParser: MailParser;
  readonly openRateLimiter: () => Promise<RateLimiter>;
  /** Absent: no metrics. */
  readonly registry?: Registry | undefined;
  /** Absent: the event loop is not watched. */
  readonly eventLoop?: EventLoopWatch | undefined;
  /** Absent: this process has no role `workers`. */
  readonly workers?: OpenedWorkers | undefined;
  /** Whether the whole start has succeeded; until then the readiness probe fails. */
  isStarted?(): boolean;
}

/** Builds and opens the API. @throws {StartRefused} the address cannot be listened on. */
export const startApi = async (
  config: Config,
  engines: Engines,
  { receiving, mailParser, openRateLimiter, registry, eventLoop, workers, isStarted = () => true }: ApiOptions,
): Promise<RunningApi> => {
  const { pool, store, awaited, system, logger, closers, trackingKeys } = engines;
  const rateLimiter = await openRateLimiter();
  const usageMarks = closers.keep('usage marks', createPostgresUsageMarks({ pool, system, logger }));
  const requestOrigins = closers.keep('request origins', createPostgresRequestOrigins({ pool, system, logger }));
  const htmlChecker = closers.keep('HTML checker', createHtmlChecker());
  const analyzer = closers.keep('analyzer', createAnalyzer());
  const htmlTracker = closers.keep('HTML tracker', createHtmlTracker());
  const textAlternatives = closers.keep('text alternatives', createTextAlternatives());
  const templateCompiler = closers.keep('template compiler', createTemplateCompiler());
  const readModels = createReadModels({ pool, store, system, awaited });
  const context = { ...engines.context, quotas: createSendingQuotas(countUsed(readModels, store), system) };
  const liveFeed = closers.keep(
    'live feed',
    createLiveFeed({ pool, store, contents: context.contents, readModels, system, logger }),
  );
  measureStreams(registry, liveFeed.size);
  let listener: Server | undefined;
  // The port may be any that is free (`PORT=0`): it is known once the API listens, before the first request.
  // Asked for by every request, and the kernel only until it is known.
  let port: number | undefined;
  let submission: RunningSubmission | undefined;
  const baseUrl = (): string => {
    const address = port === undefined ? listener?.address() : undefined;
    if (typeof address === 'object' && address !== null) port = address.port;
    return baseUrlOf(config, port ?? config.port);
  };
  const deps: HttpDependencies = {
    context,
    liveFeed,
    rateLimiter,
    htmlChecker,
    analyzer,
    htmlTracker,
    textAlternatives,
    messageSources: createMessageSources(textAlternatives),
    mailParser,
    receiving,
    templateRenderer: createLiquidRenderer(),
    templateCompiler,
    usageMarks,
    requestOrigins,
    refusedRequests: createPostgresRefusedRequests({ pool }),
    memberViews: createPostgresMemberViews({ pool }),
    logger,
    trackingKeys,
    sendingLimits: config.sendingLimits,
    identityProvider: await openIdentityProvider(config, engines),
    witnessPolicy: await readWitnessPolicy(config.auditWitnesses),
    keyStore: await openKeyStore(config, engines),
    ...(registry === undefined ? {} : { registry }),
    ...(eventLoop === undefined ? {} : { eventLoop }),
    readModels,
    inbox: context.capturing ? closers.keep('inbox', createPostgresInbox({ pool })) : null,
    webhookDeliveries: createPostgresWebhookDeliveries({ pool }),
    webhooksMax: config.webhooksMax,
    retention: createPostgresRetention({ pool, codec: engines.contentsCodec }),
    ...(config.mail.kind === 'direct' ? openDestinations(config, engines) : {}),
    trustedProxies: config.trustedProxies,
    descriptors: descriptorLimit(),
    version: await version(),
    get publicUrl() {
      return baseUrl();
    },
    get submissionServers() {
      return submission?.servers ?? [];
    },
    health: healthParts({ config, engines, readModels, eventLoop, workers }),
    probes: readinessProbes(engines, isStarted),
  };
  const server = await buildServer(deps);
  listener = server.server;
  const close = async (): Promise<void> => {
    await server.close();
  };
  try {
    await server.listen({ host: config.host, port: config.port });
  } catch (error) {
    await close();
    throw listenRefused(error, { ...config, variable: 'PORT' });
  }
  submission = await startSubmission(config, { deps, ...server.shared }).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    baseUrl: baseUrl(),
    submissionPort: submission?.port,
    submissionTlsPort: submission?.tlsPort,
    stop: async () => {
      await submission?.stop();
      await close();
    },
  };
};
