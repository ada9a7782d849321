import { createLogger } from '../adapters/logger.ts';
import { createSystem } from '../adapters/system.ts';
import type { Config } from '../config.ts';
import { signInUrl } from '../domain/kernel/addresses.ts';
import { type Logger, StartRefused } from '../lib/async/async.ts';
import type { FirstKeys } from './first-start.ts';
import type { ServiceOverrides } from './open-engines.ts';
import { linkWarning, readServiceConfig } from './read-service-config.ts';
import { type Service, startService } from './start-service.ts';

/** Longest wait for parts to close. Container runtimes kill the process 10 s later. */
const STOP_MS_MAX = 20_000;

const exitEventually = (): void => void setTimeout(() => process.exit(1), STOP_MS_MAX).unref();

const failed = (error: unknown, logger: Logger | undefined): void => {
  process.exitCode = 1;
  if (error instanceof StartRefused || logger === undefined) process.stderr.write(`${(error as Error).message}\n`);
  else logger.error({ err: error }, 'the service stops');
};

/** Resolves once standard output has accepted the text. */
const print = (text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error == null ? resolve() : reject(error)));
  });

/** Without a terminal, standard output is JSON like the log, so that a collector parses every line. */
const isTerminal = (): boolean => process.stdout.isTTY === true || process.stderr.isTTY === true;

const readyText = ({ roles, mail }: Config, { baseUrl, firstKeys, places }: Service): string => {
  const facts = baseUrl === undefined ? undefined : { baseUrl, firstKeys, capturing: mail.kind === 'capture', places };
  if (!isTerminal()) {
    const line = { level: 'info', time: createSystem().now().toISOString(), pid: process.pid, roles: [...roles] };
    return `${JSON.stringify({ ...line, ...(facts === undefined ? { places } : readyFields(facts)), msg: 'Outbox is ready' })}\n`;
  }
  return facts === undefined ? `Outbox is ready (${[...roles].join(', ')})\n${places.join('\n')}\n` : readyBlock(facts);
};

const announce = async (config: Config, service: Service, logger: Logger): Promise<void> => {
  await print(readyText(config, service));
  const warning = linkWarning(config);
  if (warning !== null) logger.warn({}, warning);
  // The database may be unavailable for a moment; the service keeps running.
  await service.noteKeysShown().catch((err: unknown) => {
    logger.warn({ err }, 'could not record that the first keys were printed: the next start prints new ones');
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
  readonly capturing: boolean;
  /** Locations of data, log and queue, one sentence each. */
  readonly places: readonly string[];
}

const KEY_IN_ENVIRONMENT = '$OUTBOX_KEY';

/** Sign-in link to print; null: none. */
const linkOf = ({ baseUrl, firstKeys }: ReadyFacts): string | null =>
  firstKeys?.link == null ? null : signInUrl(baseUrl, firstKeys.link);

const keyLines = (facts: ReadyFacts): readonly string[] => {
  if (facts.firstKeys === null) return [];
  const { live, test } = facts.firstKeys;
  const link = linkOf(facts);
  return [
    ...(link === null ? [] : ['Open the dashboard within an hour; the link works once:', link, '']),
    ...(live === null ? [] : ['Live admin key, bound to example.test, shown only now:', live, '']),
    ...(test === null ? [] : ['Test admin key, bound to example.test, shown only now:', test, '']),
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
          'Mail is captured and does not leave this machine. See what arrived:',
          `curl -sS ${facts.baseUrl}/v1/inbox ${authorizationOf(facts)}`,
        ]
      : [
          'Register the domain to send from, publish the records in the answer, and make a key for it (README, Your own domain):',
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
  firstStep: facts.capturing ? firstMessage(facts) : firstDomain(facts),
  ...(facts.capturing ? { inbox: `${facts.baseUrl}/v1/inbox` } : {}),
  reference: `${facts.baseUrl}/docs`,
});
