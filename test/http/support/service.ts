import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { Pool } from 'pg';
import { createAnalyzer } from '../../../src/adapters/html/analyzer.ts';
import { createHtmlTracker } from '../../../src/adapters/html/tracked-links.ts';
import { createAuthenticator } from '../../../src/adapters/inbound/authenticate.ts';
import { createInboundReader } from '../../../src/adapters/inbound/inbound-reader.ts';
import { createMessageSources } from '../../../src/adapters/mail/compose.ts';
import { createInMemoryRateLimiter } from '../../../src/adapters/rate-limit/in-memory.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { createInMemoryUsageMarks } from '../../../src/adapters/usage-marks.ts';
import { createHttpWebhookTarget } from '../../../src/adapters/webhook-target/http.ts';
import { type CreateKey, createKey } from '../../../src/commands/api-key.ts';
import type { CommandContext, Origin } from '../../../src/commands/execute.ts';
import { createOrganization } from '../../../src/commands/organization.ts';
import { registerDomain } from '../../../src/commands/sending-domain/change-domain.ts';
import { ERASURE_COUNTS_NONE } from '../../../src/domain/erasure/erasure.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import type { RateLimits } from '../../../src/domain/kernel/rate-limits.ts';
import type { HttpDependencies } from '../../../src/http/dependencies.ts';
import { createLiveFeed } from '../../../src/http/resources/events/live-feed.ts';
import { buildServer } from '../../../src/http/server.ts';
import { createHtmlChecker, createTextAlternatives } from '../../../src/lib/html/html.ts';
import { createMailParser } from '../../../src/lib/mime/mime.ts';
import { createLiquidRenderer, createTemplateCompiler } from '../../../src/lib/templates/templates.ts';
import { NO_POLICY } from '../../../src/lib/transparency/transparency.ts';
import { createReadModels } from '../../../src/projections/read-models.ts';
import { createAuditTreesOf } from '../../support/in-memory/audit-trees.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { createInMemoryDkimKeys } from '../../support/in-memory/dkim-keys.ts';
import { createInMemoryResolver } from '../../support/in-memory/dns.ts';
import { createInMemoryInbox } from '../../support/in-memory/inbox.ts';
import { createInMemoryMemberViews } from '../../support/in-memory/member-views.ts';
import { createInMemoryRefusedRequests } from '../../support/in-memory/refused-requests.ts';
import { createInMemoryRequestOrigins } from '../../support/in-memory/request-origins.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { createInMemoryWebhookDeliveries } from '../../support/in-memory/webhook-deliveries.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';
import { silentLogger } from '../../support/logger.ts';
import { TRACKING_KEYS } from '../../support/tracking-keys.ts';
import { HEALTHY } from './health.ts';
import { recordAnswers } from './recorded-answers.ts';

export interface Service {
  readonly server: FastifyInstance;
  readonly deps: HttpDependencies;
  /** Makes a request. `key` becomes the Authorization header. */
  request(options: InjectOptions & { readonly key?: string }): Promise<LightMyRequestResponse>;
  makeOrganization(ceilings?: RateLimits | null): Promise<string>;
  /** The domain is verified, unless mail is not captured. */
  makeDomain(organizationId: string, name: string): Promise<string>;
  makeKey(organizationId: string, domainId: string, more?: Partial<CreateKey>): Promise<{ id: string; value: string }>;
  close(): Promise<void>;
}

export type Overrides = Partial<Omit<HttpDependencies, 'context'>> & { readonly context?: Partial<CommandContext> };

/** Limits that no test reaches by accident. */
const WIDE: RateLimits = { send: 1_000_000, read: 1_000_000, manage: 1_000_000 };

export const operator = (organizationId: string): Origin => ({
  actor: 'operator',
  organizationId,
  environment: null,
  requestId: null,
  correlationId: 'test',
  causationId: 'test',
});

export const createMemoryStore = (contents: CommandContext['contents']): EventStore =>
  createInMemoryEventStore({ codec: eventCodec, system: createSystem(), contents });

/** A pool without a server: routes that need the read models answer 503. */
const nowhere = (): Pool => new Pool({ connectionString: 'postgres://nobody@127.0.0.1:1/none', max: 1 });

/** Default dependencies: everything in memory except the read models. */
const dependencies = (overrides: Overrides): HttpDependencies => {
  const system = overrides.context?.system ?? createSystem();
  const contents = overrides.context?.contents ?? createInMemoryContents();
  const context: CommandContext = {
    contents,
    store: createMemoryStore(contents),
    secrets: createInMemorySecrets(),
    resolver: createInMemoryResolver(),
    dkimKeys: createInMemoryDkimKeys(),
    webhookTarget: createHttpWebhookTarget({ system, allowLoopback: true }),
    system,
    capturing: true,
    ...overrides.context,
  };
  const pool = nowhere();
  const made = createReadModels({ pool, store: context.store, system });
  const readModels = { ...made, audit: { ...made.audit, ...createAuditTreesOf(context.store) } };
  const textAlternatives = createTextAlternatives();
  return {
    readModels,
    liveFeed: createLiveFeed({ ...context, pool, readModels, logger: silentLogger }),
    rateLimiter: createInMemoryRateLimiter({ system }),
    htmlChecker: createHtmlChecker(),
    analyzer: createAnalyzer(),
    htmlTracker: createHtmlTracker(),
    textAlternatives,
    messageSources: createMessageSources(textAlternatives),
    mailParser: createMailParser(),
    receiving: {
      reader: createInboundReader(),
      authenticate: createAuthenticator({ resolver: context.resolver, logger: silentLogger }),
      count: () => undefined,
    },
    templateRenderer: createLiquidRenderer(),
    templateCompiler: createTemplateCompiler(),
    inbox: createInMemoryInbox(),
    usageMarks: createInMemoryUsageMarks(),
    requestOrigins: createInMemoryRequestOrigins(),
    refusedRequests: createInMemoryRefusedRequests(),
    memberViews: createInMemoryMemberViews(),
    webhookDeliveries: createInMemoryWebhookDeliveries(),
    retention: { erasureProgress: async () => new Map(), countErasable: async () => ERASURE_COUNTS_NONE },
    logger: silentLogger,
    trustedProxies: [],
    version: '0.0.0',
    publicUrl: 'http://localhost',
    submissionServers: [],
    trackingKeys: TRACKING_KEYS,
    sendingLimits: { bounces: [2, 4, 5], complaints: [0.08, 0.2, 0.3] },
    identityProvider: null,
    witnessPolicy: NO_POLICY,
    probes: {},
    health: HEALTHY,
    ...overrides,
    context,
  };
};

/** The API with these dependencies. It follows its log. */
export const startService = async (overrides: Overrides = {}, check = recordAnswers): Promise<Service> => {
  const deps = dependencies(overrides);
  const { context } = deps;
  const server = await buildServer(deps);
  check(server);
  await server.ready();
  return {
    server,
    deps,
    request: ({ key, headers, ...options }) =>
      server.inject({
        ...options,
        headers: { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...headers },
      }),
    makeOrganization: (ceilings = null) => createOrganization(context, { name: 'Test', ceilings }),
    makeDomain: async (organizationId, name) =>
      (await registerDomain(context, operator(organizationId), { name })).domain.domainId,
    makeKey: async (organizationId, domainId, more = {}) => {
      const { key, value } = await createKey(context, operator(organizationId), {
        by: 'operator',
        domainId,
        name: 'test',
        permissions: ['admin'],
        environment: 'live',
        rateLimits: WIDE,
        allowedCidrs: [],
        expiresAt: null,
        ...more,
      });
      return { id: key.keyId, value };
    },
    close: async () => {
      await server.close();
      await deps.htmlChecker.close();
      await deps.analyzer.close();
      await deps.htmlTracker.close();
      await deps.textAlternatives.close();
      await deps.templateCompiler.close();
      await deps.mailParser.close();
      await deps.receiving.reader.close();
      await context.webhookTarget.close();
    },
  };
};
