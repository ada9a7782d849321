import { rm, writeFile } from 'node:fs/promises';
import { createLogger, createSystem } from '../adapters/system.ts';
import { createPostgresWebhookDeliveries } from '../adapters/webhook-deliveries/postgres.ts';
import { adoptOlderEvents } from '../commands/adopt-events.ts';
import type { Config } from '../config.ts';
import { signInUrl } from '../domain/kernel/addresses.ts';
import { LOG_START } from '../domain/kernel/event-store.ts';
import { type Logger, retry, retryWhileAway, StartRefused } from '../lib/async/async.ts';
import { createMailParser } from '../lib/mime/mime.ts';
import {
  ADVISORY_LOCKS,
  createPool,
  type KeptSessionLock,
  keepSessionLock,
  orUnavailable,
  takeSessionLock,
} from '../lib/postgres/postgres.ts';
import { isInLog, requireReached } from '../lib/projections/projections.ts';
import { createProjectionRunner, RUNNER_CONNECTIONS, requireSameLog } from '../projections/runner.ts';
import { requireRecordedFrom } from '../workers/webhooks/record-webhook-deliveries.ts';
import { type FirstKeys, firstStart, noteKeysShown } from './first-start.ts';
import { instanceMark, version } from './instances.ts';
import { baseUrlOf, createClosers, hostInUrl, type RoleEvents, type RunningRole } from './lifecycle.ts';
import { type Engines, openEngines, type ServiceOverrides } from './open-engines.ts';
import { openReceiving } from './open-inbound.ts';
import { noteApiUrl, noteMailSettings } from './open-operator.ts';
import { createRateLimiterOpener } from './open-rate-limiter.ts';
import { linkWarning, readServiceConfig } from './read-service-config.ts';
import { type RunningApi, startApi } from './start-api.ts';
import { startMetrics } from './start-metrics.ts';
import { openWorkers } from './start-workers.ts';
import { watchEventLoop } from './watch-event-loop.ts';

/**
 * For one statement of a batch. Longer waits longer for a server that vanished, shorter repeats what a slow disk cannot
 * finish in time.
 */
const STATEMENT_MS = 30_000;

/** Keeps the read models up to date. @throws {StartRefused} they were made from another log. */
const startProjections = async (engines: Engines, { onFatal }: RoleEvents): Promise<RunningRole> => {
  const { store, logFollower: log, awaited, system, logger, databaseUrl, closers, decorate } = engines;
  const options = { url: databaseUrl, logger, max: RUNNER_CONNECTIONS };
  const pool = decorate.pool(createPool({ ...options, name: 'projections', statementTimeoutMs: STATEMENT_MS }));
  closers.add('projections pool', () => pool.end());
  // A rebuild's statements have no time limit.
  const rebuildPool = createPool({ ...options, name: 'rebuilds', statementTimeoutMs: 0 });
  closers.add('rebuilds pool', () => rebuildPool.end());
  const stopping = new AbortController();
  const runner = createProjectionRunner({ pool, rebuildPool, store, log, awaited, system, logger });
  const ended = runner.run(stopping.signal).catch(onFatal);
  return {
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
};

interface Service {
  /** Absent: this process does not have the role `api`. */
  readonly baseUrl: string | undefined;
  /** To print; null: printed before. */
  readonly firstKeys: FirstKeys | null;
  /** Call once `firstKeys` are printed: otherwise the next start prints new ones. */
  noteKeysShown(): Promise<void>;
  readonly places: readonly string[];
  /** Stops the roles, then closes everything in reverse. */
  stop(): Promise<void>;
}

type First = Pick<Service, 'firstKeys' | 'noteKeysShown'>;

const NOTHING_TO_SHOW: First = { firstKeys: null, noteKeysShown: async () => undefined };

/** If several processes start at once, one prints the keys and the others wait. */
const firstStartOnce = async (
  { databaseUrl, context, system, closers }: Engines,
  { adminKey }: Config,
): Promise<First> => {
  const lock = await takeSessionLock(databaseUrl, ADVISORY_LOCKS.firstStart, 'waited for');
  closers.add('first start lock', async () => lock?.release());
  let firstKeys: FirstKeys | null = null;
  try {
    firstKeys = await firstStart(context, adminKey);
  } finally {
    if (firstKeys === null) await lock?.release();
  }
  if (firstKeys === null) return NOTHING_TO_SHOW;
  return {
    firstKeys,
    noteKeysShown: async () => {
      await retry(system, () => noteKeysShown(context)).finally(() => lock?.release());
    },
  };
};

const RECORDED_BEYOND =
  'the log is an older copy: it ends before the last event that was recorded for webhooks. Connect the newer log, or continue at the end of this one with "outbox projections rebuild webhook-recording"';

/**
 * Refuses a log that is being copied, or that differs from the one read models and webhooks were derived from.
 * @returns the session by which other processes know this one.
 */
const claimLog = async (
  { databaseUrl, pool, log, system, closers }: Engines,
  config: Config,
): Promise<KeptSessionLock> => {
  const name = instanceMark(config, await version());
  const lock = await keepSessionLock({ url: databaseUrl, lock: ADVISORY_LOCKS.log, name, system });
  if (lock === null) throw new StartRefused('the log is being copied: start the service again afterwards');
  closers.add('log lock', lock.release);
  const logId = await retryWhileAway({ system }, log.logId);
  await retryWhileAway({ system }, () => orUnavailable(requireSameLog(pool, logId)));
  await retryWhileAway({ system }, () => orUnavailable(requireReached(pool, log)));
  const recorded = createPostgresWebhookDeliveries({ pool });
  const recording = await retryWhileAway({ system }, () => requireRecordedFrom(recorded, logId));
  const isReached = await retryWhileAway({ system }, () => isInLog(log, recording?.position ?? LOG_START));
  if (!isReached) throw new StartRefused(RECORDED_BEYOND);
  return lock;
};

/**
 * Opens the roles so that they close in the reverse order: the API first, so that nothing new comes in. Workers begin last:
 * their backlog must not delay the start, and links in their mail need the API's port.
 */
const startRoles = async (
  config: Config,
  engines: Engines,
  {
    isStarted,
    overrides,
    session,
    ...events
  }: RoleEvents & { isStarted(): boolean; readonly overrides: ServiceOverrides; readonly session: KeptSessionLock },
): Promise<{ readonly api: RunningApi | undefined; readonly places: readonly string[] }> => {
  const { roles } = config;
  const { closers, system, logger } = engines;
  const registry = await startMetrics(config, engines);
  const eventLoop = watchEventLoop({ system, logger, registry });
  closers.add('event loop watch', async () => eventLoop.stop());
  if (roles.has('projections')) closers.add('projections', (await startProjections(engines, events)).stop);
  let baseUrl = baseUrlOf(config, config.port);
  const receiving = openReceiving(engines, registry);
  const mailParser = closers.keep('mail parser', createMailParser());
  const openRateLimiter = createRateLimiterOpener(config, engines);
  const shared = { receiving, mailParser, openRateLimiter, registry };
  const links = { ...shared, publicUrl: () => baseUrl, overrides, session };
  const workers = roles.has('workers') ? await openWorkers(config, engines, events, links) : undefined;
  if (workers !== undefined) closers.add('workers', workers.stop);
  const api = roles.has('api')
    ? await startApi(config, engines, { ...shared, eventLoop, workers, isStarted })
    : undefined;
  if (api !== undefined) {
    baseUrl = api.baseUrl;
    closers.add('API', api.stop);
  }
  workers?.begin();
  return { api, places: workers?.places ?? [] };
};

const noteMail = ({ context, system }: Engines, config: Config): Promise<void> =>
  retryWhileAway({ system }, () => noteMailSettings(context.secrets, config));

const noteApi = ({ context, system }: Engines, { baseUrl }: RunningApi): Promise<void> =>
  retryWhileAway({ system }, () => noteApiUrl(context.secrets, baseUrl));

const submissionPlace = ({ host }: Config, api: RunningApi | undefined): readonly string[] => {
  const ports = [api?.submissionPort, api?.submissionTlsPort].filter((port) => port !== undefined);
  return ports.map((port) => `SMTP submission at ${host}:${port}`);
};

/** The address behind the proxy: before the proxy works, `PUBLIC_URL` answers nothing. Unknown if the port is chosen at start. */
export const listenPlace = ({ publicUrl, host, port, roles }: Config): readonly string[] =>
  publicUrl === undefined || port === 0 || !roles.has('api') ? [] : [`API: listens on ${hostInUrl(host)}:${port}`];

/**
 * Opens the configured parts and starts the roles. If one fails, the others are closed again.
 * @throws {StartRefused}
 */
const startService = async (
  config: Config,
  logger: Logger,
  events: RoleEvents,
  overrides: ServiceOverrides = {},
): Promise<Service> => {
  const closers = createClosers(logger);
  try {
    const engines = await openEngines({ config, logger, closers, owner: { onLost: events.onFatal }, overrides });
    const session = await claimLog(engines, config);
    if (await retryWhileAway({ system: engines.system }, () => adoptOlderEvents(engines.context)))
      logger.warn(
        { audit: 'adopted' },
        'adopted the events of an older version, which carry no proof of who wrote them',
      );
    const { roles } = config;
    // Projections do not need the mail settings.
    if (roles.has('api') || roles.has('workers')) await noteMail(engines, config);
    // Before any role reads or writes. If this start fails later, the next one replaces the keys.
    const first = roles.has('api') ? await firstStartOnce(engines, config) : NOTHING_TO_SHOW;
    let started = false;
    const { api, places: listening } = await startRoles(config, engines, {
      ...events,
      overrides,
      session,
      isStarted: () => started,
    });
    if (api !== undefined) await noteApi(engines, api);
    started = true;
    const places = [...engines.places, ...listenPlace(config), ...submissionPlace(config, api), ...listening];
    return { baseUrl: api?.baseUrl, ...first, places, stop: closers.closeAll };
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
};

/** Longest wait for parts to close. Container runtimes kill the process 10 s later. */
const STOP_MS_MAX = 20_000;

const exitEventually = (): void => void setTimeout(() => process.exit(1), STOP_MS_MAX).unref();

const failed = (error: unknown, logger: Logger | undefined): void => {
  process.exitCode = 1;
  if (error instanceof StartRefused || logger === undefined) process.stderr.write(`${(error as Error).message}\n`);
  else logger.error({ err: error }, 'the service is stopping');
};

/** Resolves once standard output has accepted the text. */
const print = (text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error == null ? resolve() : reject(error)));
  });

/** Without a terminal, standard output is JSON like the log, so that a collector parses every line. */
const isTerminal = (): boolean => process.stdout.isTTY === true || process.stderr.isTTY === true;

const READABLE_BY_ITS_USER = 0o600;

/**
 * Writes the first keys and the sign-in link to a file, so that they are not in a log that is kept.
 * @throws {StartRefused} The keys are still unknown then, so the next start makes new ones.
 */
const writeFirstKeys = async (path: string, facts: ReadyFacts): Promise<void> => {
  const { live, test } = facts.firstKeys ?? { live: null, test: null };
  const link = linkOf(facts);
  const lines = [
    ...(live === null ? [] : [`OUTBOX_KEY=${live}`]),
    ...(test === null ? [] : [`OUTBOX_TEST_KEY=${test}`]),
    ...(link === null ? [] : [`DASHBOARD_LINK=${link}`]),
  ];
  try {
    // A file of before may have other permissions, or be a link.
    await rm(path, { force: true });
    await writeFile(path, `${lines.join('\n')}\n`, { mode: READABLE_BY_ITS_USER, flag: 'wx' });
  } catch (error) {
    throw new StartRefused(
      `OUTBOX_FIRST_KEY_FILE: ${path} cannot be written: ${(error as Error).message}: set a path in a folder that this user may write`,
    );
  }
};

/** The facts to print, with the first keys in a file if the operator named one. @throws {StartRefused} */
const readyFacts = async (
  { mail, firstKeyFile }: Config,
  baseUrl: string,
  { firstKeys, places }: Service,
): Promise<ReadyFacts> => {
  const facts = { baseUrl, firstKeys, capturing: mail.kind === 'capture', places };
  if (firstKeyFile === undefined || firstKeys === null) return facts;
  await writeFirstKeys(firstKeyFile, facts);
  return { ...facts, firstKeys: null, firstKeyFile };
};

const readyText = async (config: Config, service: Service): Promise<string> => {
  const { roles } = config;
  const { baseUrl, places } = service;
  const facts = baseUrl === undefined ? undefined : await readyFacts(config, baseUrl, service);
  if (!isTerminal()) {
    const line = { level: 'info', time: createSystem().now().toISOString(), pid: process.pid, roles: [...roles] };
    return `${JSON.stringify({ ...line, ...(facts === undefined ? { places } : readyFields(facts)), msg: 'Outbox is ready' })}\n`;
  }
  return facts === undefined ? `Outbox is ready (${[...roles].join(', ')})\n${places.join('\n')}\n` : readyBlock(facts);
};

const announce = async (config: Config, service: Service, logger: Logger): Promise<void> => {
  await print(await readyText(config, service));
  const warning = linkWarning(config);
  if (warning !== null) logger.warn({}, warning);
  // The database may be unavailable for a moment; the service keeps running.
  await service.noteKeysShown().catch((err: unknown) => {
    logger.warn({ err }, 'could not record that the first keys were printed: the next start will print new ones');
  });
};

/** Runs the service until a signal ends it or it cannot continue (exit code 1). */
export const runService = async (overrides: ServiceOverrides = {}): Promise<void> => {
  let logger: Logger | undefined;
  try {
    const config = await readServiceConfig(process.env);
    logger = createLogger({ level: config.logLevel });
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const onFatal = (error: unknown): void => {
      failed(error, logger);
      end();
    };
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end);
    const service = await startService(config, logger, { onFatal }, overrides);
    try {
      await announce(config, service, logger);
      await ended;
    } finally {
      exitEventually();
      await service.stop();
      logger.info({}, 'stopped');
    }
  } catch (error) {
    failed(error, logger);
    exitEventually();
  }
};

export interface ReadyFacts {
  readonly baseUrl: string;
  /** Secrets created at this start; null at later ones. */
  readonly firstKeys: FirstKeys | null;
  /** The file that has them. */
  readonly firstKeyFile?: string;
  readonly capturing: boolean;
  /** Locations of data, log and queue, one sentence each. */
  readonly places: readonly string[];
}

const KEY_IN_ENVIRONMENT = '$OUTBOX_KEY';

/** Sign-in link to print; null: none. */
const linkOf = ({ baseUrl, firstKeys }: ReadyFacts): string | null =>
  firstKeys?.link == null ? null : signInUrl(baseUrl, firstKeys.link);

const keyLines = (facts: ReadyFacts): readonly string[] => {
  if (facts.firstKeyFile !== undefined)
    return [
      'The first admin keys and a link to the dashboard are in this file, which only this user can read:',
      facts.firstKeyFile,
      '',
    ];
  if (facts.firstKeys === null) return [];
  const { live, test } = facts.firstKeys;
  const link = linkOf(facts);
  return [
    ...(link === null ? [] : ['Open the dashboard (the link works once, within an hour):', link, '']),
    ...(live === null ? [] : ['Live admin key for example.test (not shown again):', live, '']),
    ...(test === null ? [] : ['Test admin key for example.test (not shown again):', test, '']),
  ];
};

const FIRST_MESSAGE = JSON.stringify({
  from: 'hello@example.test',
  to: 'you@example.net',
  subject: 'First message',
  html: '<p>It works.</p>',
});

const FIRST_DOMAIN = JSON.stringify({ name: 'mail.example.com' });

const authorizationOf = ({ firstKeys }: ReadyFacts): string =>
  `-H "Authorization: Bearer ${firstKeys?.live ?? KEY_IN_ENVIRONMENT}"`;

const firstMessage = (facts: ReadyFacts): string =>
  `curl -sS ${facts.baseUrl}/v1/messages/send ${authorizationOf(facts)} -H 'Content-Type: application/json' -d '${FIRST_MESSAGE}'`;

const firstDomain = (facts: ReadyFacts): string =>
  `curl -sS ${facts.baseUrl}/v1/domains ${authorizationOf(facts)} -H 'Content-Type: application/json' -d '${FIRST_DOMAIN}'`;

/** The text printed on a terminal when the service is ready, with a first command to paste. */
export const readyBlock = (facts: ReadyFacts): string =>
  [
    '',
    `Outbox is ready at ${facts.baseUrl}`,
    ...facts.places,
    '',
    ...keyLines(facts),
    ...(facts.capturing
      ? [
          'Send a first message:',
          firstMessage(facts),
          '',
          'Mail is captured: it is stored here and never sent. Read it:',
          `curl -sS ${facts.baseUrl}/v1/inbox ${authorizationOf(facts)}`,
        ]
      : [
          'To send from your own domain, register it, publish the records in the response, and create a key for it (README, Your own domain):',
          firstDomain(facts),
        ]),
    '',
    `API reference: ${facts.baseUrl}/docs`,
    '',
  ].join('\n');

/** The same as fields of a JSON log line. */
export const readyFields = (facts: ReadyFacts): Readonly<Record<string, unknown>> => ({
  baseUrl: facts.baseUrl,
  places: facts.places,
  ...(facts.firstKeys?.live == null ? {} : { liveKey: facts.firstKeys.live }),
  ...(facts.firstKeys?.test == null ? {} : { testKey: facts.firstKeys.test }),
  ...(linkOf(facts) === null ? {} : { dashboard: linkOf(facts) }),
  ...(facts.firstKeyFile === undefined ? {} : { firstKeyFile: facts.firstKeyFile }),
  firstStep: facts.capturing ? firstMessage(facts) : firstDomain(facts),
  ...(facts.capturing ? { inbox: `${facts.baseUrl}/v1/inbox` } : {}),
  reference: `${facts.baseUrl}/docs`,
});
