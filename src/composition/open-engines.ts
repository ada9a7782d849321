import type { Pool } from 'pg';
import { type ContentsCodec, createContentsCodec } from '../adapters/contents/contents-codec.ts';
import { createPostgresContents } from '../adapters/contents/postgres.ts';
import { createGeneratedDkimKeys } from '../adapters/dkim-keys.ts';
import { claimOwnership, openEmbeddedPostgres } from '../adapters/embedded-postgres/embedded-postgres.ts';
import { createPostgresEventStore } from '../adapters/event-store.ts';
import {
  checkSecretKey,
  createPostgresSecrets,
  createSecretBox,
  loadOrMakeSecretKey,
  openEventKeys,
  openTrackingKeys,
  type SecretKeys,
} from '../adapters/secrets/postgres.ts';
import { createSystem } from '../adapters/system.ts';
import { createHttpWebhookTarget } from '../adapters/webhook-target/http.ts';
import type { CommandContext } from '../commands/execute.ts';
import type { Config } from '../config.ts';
import { createSealingCodec, type EventCodec } from '../domain/kernel/codec.ts';
import { createEventMacs } from '../domain/kernel/event-macs.ts';
import type { EventStore, LogFollower } from '../domain/kernel/event-store.ts';
import type { Contents, Retention } from '../domain/ports/contents.ts';
import type { MailTransport } from '../domain/ports/mail.ts';
import type { Queues } from '../domain/ports/queue.ts';
import type { Secrets } from '../domain/ports/secrets.ts';
import type { WebhookDeliveries, WebhookTarget } from '../domain/ports/webhooks.ts';
import { type TrackingKeys, trackingTarget } from '../domain/tracking/tracking.ts';
import { type Logger, retryWhileAway, StartRefused, type System } from '../lib/async/async.ts';
import { createLogGuard, hostsOf, type LogGuard } from '../lib/event-log/event-log.ts';
import { createLogFollower } from '../lib/event-log/follower.ts';
import { checkPostgres, createPool } from '../lib/postgres/postgres.ts';
import { type AwaitedPositions, createAwaitedPositions } from '../lib/projections/projections.ts';
import { createStubResolver } from '../lib/smtp/smtp.ts';
import { withCopyForFolding } from '../projections/live-views.ts';
import { migrate } from '../projections/migrate.ts';
import type { AttemptTimes } from '../workers/delivery/claim.ts';
import type { WebhookTimes } from '../workers/webhooks/post-once.ts';
import type { Closers } from './lifecycle.ts';
import { type AppendListener, type AppendTimes, measureAppends } from './measure-appends.ts';
import type { StoreParts } from './open-eventstoredb.ts';
import { followRenewals, readPlans, readTls } from './read-service-config.ts';

interface OpenDatabase {
  readonly url: string;
  readonly secretKeys: SecretKeys;
  /** Location of the data, for the ready block. */
  readonly place: string;
}

interface OpenDatabaseOptions {
  readonly config: Config;
  readonly system: System;
  readonly logger: Logger;
  readonly closers: Closers;
  /** The service owns the built-in database exclusively; the operator's commands share it. */
  readonly owner: false | { onLost(reason: StartRefused): void };
  /** Do not create the built-in database. */
  readonly mustExist?: boolean;
}

const openBuiltIn = async (options: OpenDatabaseOptions): Promise<OpenDatabase> => {
  const { config, system, logger, closers, owner, mustExist } = options;
  const { dataDir, previousSecretKey: previous } = config;
  const embedded = closers.keep(
    'built-in PostgreSQL',
    await openEmbeddedPostgres({ dataDir, system, logger, supervised: owner !== false, mustExist }),
  );
  const { url, location, relocated } = embedded;
  if (owner !== false) {
    const ownership = await claimOwnership({ url, system, logger, onLost: owner.onLost });
    closers.add('ownership', ownership.release);
  }
  const current = config.secretKey ?? (await loadOrMakeSecretKey(dataDir, system));
  const why = relocated ? ` (the database's user cannot reach ${dataDir})` : '';
  return { url, secretKeys: { current, previous }, place: `Data: built-in PostgreSQL in ${location}${why}` };
};

/** The database of `DATABASE_URL`, or the built-in one. @throws {StartRefused} */
export const openDatabase = async (options: OpenDatabaseOptions): Promise<OpenDatabase> => {
  const { config, system, logger } = options;
  if (config.databaseUrl === undefined) return openBuiltIn(options);
  const url = config.databaseUrl;
  await checkPostgres({ url, setting: 'DATABASE_URL', product: 'Outbox', system, logger });
  // The configuration requires SECRET_KEY with DATABASE_URL.
  const secretKeys = { current: config.secretKey ?? '', previous: config.previousSecretKey };
  return { url, secretKeys, place: `Data: PostgreSQL at ${new URL(url).host}` };
};

type Decorator<Port> = (port: Port) => Port;

/** Wraps ports as they are opened, for fault injection. */
export interface PortDecorators {
  readonly store: Decorator<EventStore>;
  readonly contents: Decorator<Contents>;
  readonly secrets: Decorator<Secrets>;
  readonly queues: Decorator<Queues>;
  readonly transport: Decorator<MailTransport>;
  readonly webhookDeliveries: Decorator<WebhookDeliveries>;
  readonly webhookTarget: Decorator<WebhookTarget>;
  readonly retention: Decorator<Retention>;
  /** Pool of the projections. */
  readonly pool: Decorator<Pool>;
}

const same = <Port>(port: Port): Port => port;

const UNDECORATED: PortDecorators = {
  store: same,
  contents: same,
  secrets: same,
  queues: same,
  transport: same,
  webhookDeliveries: same,
  webhookTarget: same,
  retention: same,
  pool: same,
};

/** Deviations from the configuration, for tests only. */
export interface ServiceOverrides {
  readonly ports?: PortDecorators;
  readonly times?: AttemptTimes;
  readonly webhookTimes?: WebhookTimes;
  readonly erasureRoundMs?: number;
  /** Also when mail is not captured. */
  readonly allowLoopbackWebhooks?: boolean;
}

/** Database, log, vault and resolver, as the service and the operator's commands use them. */
export interface Engines {
  readonly system: System;
  readonly logger: Logger;
  readonly closers: Closers;
  readonly databaseUrl: string;
  readonly pool: Pool;
  readonly secretKeys: SecretKeys;
  /** Make and prove tracked links. */
  readonly trackingKeys: TrackingKeys;
  /** The log for general use: guarded, with folds read from a copy and one shared subscription. */
  readonly store: EventStore;
  readonly logFollower: LogFollower;
  readonly awaited: AwaitedPositions;
  readonly logGuard: LogGuard;
  /** The log itself, for rebuilding read models and checking its identity. */
  readonly log: EventStore;
  readonly context: CommandContext;
  /** The vault on other connections: see `withOwnConnections`. */
  readonly vaultOn: (pool: Pool) => Pick<CommandContext, 'secrets' | 'contents'>;
  readonly contentsCodec: ContentsCodec;
  /** Proves that this service wrote an event. */
  readonly codec: EventCodec;
  /** Durations of this process's appends. */
  appendTimes(): AppendTimes;
  /** Reports each append of this process from now on to one listener. */
  onAppend(listener: AppendListener): void;
  /** Whether the last append that the log answered found its disk full. */
  foundFull(): boolean;
  /** Number of reads of contents that an event names but the vault lacks. */
  missingContents(): number;
  /** For ports that a role opens; those above are decorated already. */
  readonly decorate: PortDecorators;
  /** Locations of data, log and queue, one sentence each. */
  readonly places: readonly string[];
}

/** Opens the log: EventStoreDB at this URL, or PostgreSQL. @throws {StartRefused} it cannot be used. */
export const openEventStore = async (eventStoreUrl: string | undefined, parts: StoreParts): Promise<EventStore> => {
  if (eventStoreUrl === undefined) {
    const { databaseUrl, codec, system, logger, contentsCodec } = parts;
    return createPostgresEventStore({ url: databaseUrl, codec, contentsCodec, system, logger });
  }
  // Loaded on demand: its client takes 20 MB.
  const { openEventStoreDb } = await import('./open-eventstoredb.ts');
  return openEventStoreDb(eventStoreUrl, parts);
};

interface OpenEnginesOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly closers: Closers;
  readonly owner: OpenDatabaseOptions['owner'];
  readonly mustExist?: boolean;
  readonly overrides?: ServiceOverrides;
}

const LOG_RETURNED =
  'the log of this service is connected again: this process ends, because it may have read events of the other log. Start it again';

/** Ids in one line of the service's log. */
const MISSING_NAMED_MAX = 10;

/** Opens, migrates and checks database, log and vault. @throws {StartRefused} */
export const openEngines = async (options: OpenEnginesOptions): Promise<Engines> => {
  const { config, logger, closers, owner, mustExist = false, overrides = {} } = options;
  const decorate = overrides.ports ?? UNDECORATED;
  const system = createSystem();
  // Generated while the built-in database starts, so that a first start does not wait for its domain's keys.
  const dkimKeys = createGeneratedDkimKeys({ ahead: owner && config.databaseUrl === undefined });
  const database = await openDatabase({ config, system, logger, closers, owner, mustExist });
  await migrate({ url: database.url });
  const pool = createPool({ url: database.url, name: 'service', logger });
  closers.add('database pool', () => pool.end());
  const { secretKeys } = database;
  const secretsOn = (pool: Pool) => createPostgresSecrets({ pool, system, secretKeys });
  // Not decorated: it writes its row at every start.
  await retryWhileAway({ system }, () => checkSecretKey(secretsOn(pool)));
  const trackingKeys = await retryWhileAway({ system }, () => openTrackingKeys(secretsOn(pool), secretKeys));
  const eventKeys = await retryWhileAway({ system }, () => openEventKeys(secretsOn(pool), secretKeys));
  const codec = createSealingCodec(createEventMacs(eventKeys));
  const box = createSecretBox(secretKeys, 'vault.contents', system);
  const contentsCodec = createContentsCodec({ box, encrypts: config.encryptContents });
  let missing = 0;
  const onMissing = (ids: readonly string[]): void => {
    missing += ids.length;
    logger.error(
      { contentIds: ids.slice(0, MISSING_NAMED_MAX) },
      'the vault has lost contents: restore them from a backup',
    );
  };
  const vaultOn: Engines['vaultOn'] = (pool) => ({
    secrets: decorate.secrets(secretsOn(pool)),
    contents: decorate.contents(createPostgresContents({ pool, codec: contentsCodec, onMissing })),
  });
  const { secrets, contents } = vaultOn(pool);
  const storeParts = { databaseUrl: database.url, codec, system, logger, contents, contentsCodec };
  const opened = await openEventStore(config.eventStoreUrl, storeParts);
  const { store: measured, ...appends } = measureAppends(decorate.store(opened), system);
  const log = closers.keep('event store', measured);
  const onReturned = (): void => {
    // Operators' commands are short.
    if (owner !== false) owner.onLost(new StartRefused(LOG_RETURNED));
  };
  const logGuard = closers.keep('guard of the log', await createLogGuard({ store: log, system, logger, onReturned }));
  const guarded = logGuard.guard(log);
  const logFollower = closers.keep('log follower', createLogFollower({ store: guarded, system }));
  const followed: EventStore = { ...guarded, subscribe: logFollower.subscribe };
  const store = withCopyForFolding({ store: followed, db: pool, logger });
  const capturing = config.mail.kind === 'capture';
  const allowLoopback = capturing || overrides.allowLoopbackWebhooks === true;
  const resolver = closers.keep('resolver', createStubResolver({ system, servers: config.dnsServers }));
  const webhookTls = {
    tlsFiles: config.webhookTlsFiles,
    variables: 'WEBHOOK_CERT_FILE and WEBHOOK_KEY_FILE',
    logger,
  };
  const httpTarget = createHttpWebhookTarget({
    system,
    allowLoopback,
    resolver,
    sourceAddresses: config.webhookSourceAddresses,
    clientTls: await readTls(webhookTls.tlsFiles, webhookTls.variables),
  });
  const webhookTarget = closers.keep('webhook target', decorate.webhookTarget(httpTarget));
  const endRenewals = followRenewals(webhookTls, httpTarget.useTls);
  closers.add('renewals of the webhook certificate', async () => endRenewals());
  const context: CommandContext = {
    store,
    contents,
    secrets,
    resolver,
    dkimKeys,
    webhookTarget,
    system,
    capturing,
    bounceDomain: config.bounceDomain ?? null,
    trackingTarget: trackingTarget(config.publicUrl ?? null),
    plans: await readPlans(config.plansFile),
    readingsPercent: config.readingsPercent,
  };
  const logPlace =
    config.eventStoreUrl === undefined
      ? []
      : [`Log: EventStoreDB at ${hostsOf({ connectionString: config.eventStoreUrl, setting: 'EVENTSTORE_URL' })}`];
  return {
    system,
    logger,
    closers,
    databaseUrl: database.url,
    pool,
    secretKeys,
    trackingKeys,
    store,
    logFollower,
    awaited: createAwaitedPositions(),
    logGuard,
    log,
    context,
    vaultOn,
    codec,
    contentsCodec,
    missingContents: () => missing,
    ...appends,
    decorate,
    places: [database.place, ...logPlace],
  };
};

/**
 * The same engines with a connection pool of their own, so that one role's backlog (webhooks that all read their secrets)
 * does not block requests and probes of another.
 */
export const withOwnConnections = (engines: Engines, name: string): Engines => {
  const { databaseUrl, logger, closers, context, vaultOn } = engines;
  const pool = createPool({ url: databaseUrl, name, logger });
  closers.add(`${name} pool`, () => pool.end());
  return { ...engines, pool, context: { ...context, ...vaultOn(pool) } };
};
