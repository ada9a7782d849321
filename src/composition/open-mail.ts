import { hostname } from 'node:os';
import { createPostgresInbox } from '../adapters/inbox/postgres.ts';
import { createSimulatedTransport, startCaptureServer } from '../adapters/mail/capture.ts';
import { createDirectTransport } from '../adapters/mail/mx/mx.ts';
import { createMailDestinations, createMxAddresses, createMxRoutes } from '../adapters/mail/mx/routes.ts';
import {
  createSmarthostWatch,
  createSmtpTransport,
  isLoopback,
  type PooledTransport,
  parseSmarthost,
  type SmarthostWatch,
} from '../adapters/mail/smarthost.ts';
import { createPublicLookup } from '../adapters/webhook-target/guarded-lookup.ts';
import type { Config } from '../config.ts';
import type { Environment } from '../domain/kernel/environment.ts';
import type { MailTransport } from '../domain/ports/mail.ts';
import { createMtaSts, createTransportSecurity } from '../lib/smtp/smtp.ts';
import type { Destinations } from '../workers/delivery/due.ts';
import { createSourceQuotas } from '../workers/warm-ups.ts';
import type { Engines } from './open-engines.ts';

/** Half of the messages in flight wait for commits. More sessions stay idle, fewer make messages wait. */
const SESSIONS_MAX = 50;

interface Mail {
  readonly live: PooledTransport;
  /** For test keys. */
  readonly test: MailTransport;
  /** The mail server is on this machine. */
  readonly local: boolean;
  /** Only in direct delivery. */
  readonly destinations?: Destinations;
}

const SMTP_PORT = 25;

const ehloNameOf = ({ ehloName }: Config): string => ehloName ?? hostname();

const openRoutes = (config: Config, { context: { resolver }, system }: Engines) =>
  createMxRoutes({ resolver, system, ehloName: ehloNameOf(config) });

/** Maps recipient domains to destinations, for direct delivery. */
export const openDestinations = (config: Config, engines: Engines) => {
  const { context, system } = engines;
  const { allowPrivateMx: allowPrivate } = config;
  const addressesOf = createMxAddresses({ resolver: context.resolver, system, allowPrivate });
  return createMailDestinations({ routes: openRoutes(config, engines), addressesOf, system });
};

const openDirect = (config: Config, engines: Engines): Mail => {
  const { context, system, logger, closers } = engines;
  const ehloName = ehloNameOf(config);
  const { resolver } = context;
  const { sourceAddresses, sourcePools, allowPrivateMx: allowPrivate, mxPort: port = SMTP_PORT } = config;
  const mtaSts = closers.keep(
    'MTA-STS policies',
    createMtaSts({ resolver, system, fetch: { lookup: createPublicLookup(resolver) } }),
  );
  const security = createTransportSecurity({ resolver, mtaSts, system, logger, port });
  const routes = openRoutes(config, engines);
  const { providerOf, serversOf } = openDestinations(config, engines);
  const sourceQuotas = createSourceQuotas({
    store: engines.store,
    system,
    destinations: { providerOf },
    warmUps: config.sourceWarmUps ?? new Map(),
  });
  const transport = createDirectTransport({
    routes,
    resolver,
    security,
    system,
    logger,
    ehloName,
    sourceAddresses,
    sourcePools,
    sourceQuotas,
    allowPrivate,
    port,
  });
  const destinations: Destinations = {
    providerOf: async (domain) => {
      // Fetch a slow MTA-STS policy before the mail takes a place in the provider's queue.
      await mtaSts.policyOf(domain);
      return providerOf(domain);
    },
    serversOf,
  };
  return { live: transport, test: createSimulatedTransport(), local: false, destinations };
};

const submitTo = (url: string, config: Config, engines: Engines, watch?: SmarthostWatch): PooledTransport =>
  createSmtpTransport({
    url,
    ehloName: ehloNameOf(config),
    system: engines.system,
    sessionsMax: SESSIONS_MAX,
    ...(watch === undefined ? {} : { watch }),
  });

const openSmarthost = (url: string, config: Config, engines: Engines): Mail => {
  const { host, port } = parseSmarthost(url);
  const watch = createSmarthostWatch({ host, port, system: engines.system, logger: engines.logger });
  return { live: submitTo(url, config, engines, watch), test: createSimulatedTransport(), local: isLoopback(host) };
};

/** Live and simulated mail each go by SMTP to a capturing server of our own, so that both can be inspected. */
const openCapture = async (config: Config, engines: Engines): Promise<Mail> => {
  const { pool, system, logger, closers } = engines;
  const inbox = closers.keep('inbox of captured mail', createPostgresInbox({ pool }));
  const serve = async (environment: Environment): Promise<PooledTransport> => {
    const server = closers.keep(
      `capturing mail server (${environment})`,
      await startCaptureServer({ inbox, environment, system, logger }),
    );
    return submitTo(server.url, config, engines);
  };
  return { live: await serve('live'), test: createSimulatedTransport(await serve('test')), local: true };
};

/** Opens the configured transport. */
export const openMail = async (config: Config, engines: Engines): Promise<Mail> => {
  const { mail } = config;
  if (mail.kind === 'direct') return openDirect(config, engines);
  return mail.kind === 'smarthost' ? openSmarthost(mail.url, config, engines) : openCapture(config, engines);
};
