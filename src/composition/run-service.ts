import { createLogger } from '../adapters/logger.ts';
import { createSystem } from '../adapters/system.ts';
import type { Config } from '../config.ts';
import type { Logger } from '../domain/ports/logger.ts';
import { StartRefused } from '../domain/start-refused.ts';
import type { FirstKeys } from './first-start.ts';
import type { ServiceOverrides } from './open-engines.ts';
import { readServiceConfig } from './read-service-config.ts';
import { type Service, startService } from './start-service.ts';

/** A part that does not close by itself keeps the process no longer than this: containers are killed after 10 s more. */
const STOP_MS_MAX = 20_000;

const endAtLast = (): void => void setTimeout(() => process.exit(1), STOP_MS_MAX).unref();

const failed = (error: unknown, logger: Logger | undefined): void => {
  process.exitCode = 1;
  if (error instanceof StartRefused || logger === undefined) process.stderr.write(`${(error as Error).message}\n`);
  else logger.error({ err: error }, 'the service stops');
};

/** Resolves once whoever reads our standard output has been given it. */
const print = (text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error == null ? resolve() : reject(error)));
  });

/** Where neither output goes to a terminal, both are JSON: whatever collects them parses each line alike. */
const isForPeople = (): boolean => process.stdout.isTTY === true || process.stderr.isTTY === true;

const readyText = ({ roles, mail }: Config, { baseUrl, firstKeys, places }: Service): string => {
  const facts = baseUrl === undefined ? undefined : { baseUrl, firstKeys, capturing: mail.kind === 'capture', places };
  if (!isForPeople()) {
    const line = { level: 'info', time: createSystem().now().toISOString(), pid: process.pid, roles: [...roles] };
    return `${JSON.stringify({ ...line, ...(facts === undefined ? { places } : readyFields(facts)), msg: 'Outbox is ready' })}\n`;
  }
  return facts === undefined ? `Outbox is ready (${[...roles].join(', ')})\n${places.join('\n')}\n` : readyBlock(facts);
};

const announce = async (config: Config, service: Service, logger: Logger): Promise<void> => {
  await print(readyText(config, service));
  // A service that is up does not end because the database was away for a moment.
  await service.noteKeysShown().catch((err: unknown) => {
    logger.warn({ err }, 'it could not be noted that the first keys were shown: the next start shows such keys again');
  });
};

/** Runs the service from the environment's configuration until it is told to end, or cannot go on (exit code 1). */
export const runService = async (overrides: ServiceOverrides = {}): Promise<void> => {
  let logger: Logger | undefined;
  try {
    const config = await readServiceConfig(process.env);
    logger = createLogger({ level: config.logLevel });
    let end = (): void => undefined;
    const told = new Promise<void>((resolve) => {
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
      await told;
    } finally {
      endAtLast();
      await service.stop();
      logger.info({}, 'stopped');
    }
  } catch (error) {
    failed(error, logger);
    endAtLast();
  }
};

export interface ReadyFacts {
  readonly baseUrl: string;
  /** Secrets made at this start; null at every later one. */
  readonly firstKeys: FirstKeys | null;
  readonly capturing: boolean;
  /** Where data, log and queue are, one sentence each. */
  readonly places: readonly string[];
}

const KEY_IN_ENVIRONMENT = '$OUTBOX_KEY';

const keyLines = ({ firstKeys }: ReadyFacts): readonly string[] => {
  if (firstKeys === null) return [];
  const { live, test } = firstKeys;
  return [
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

/** What is printed on a terminal when the service is ready: enough to take the first step by pasting one line. */
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

/** The same as fields, for a service whose log is JSON: a line of it says that the service is ready. */
export const readyFields = (facts: ReadyFacts): Readonly<Record<string, unknown>> => ({
  baseUrl: facts.baseUrl,
  places: facts.places,
  ...(facts.firstKeys?.live == null ? {} : { liveKey: facts.firstKeys.live }),
  ...(facts.firstKeys?.test == null ? {} : { testKey: facts.firstKeys.test }),
  firstStep: facts.capturing ? firstMessage(facts) : firstDomain(facts),
  ...(facts.capturing ? { inbox: `${facts.baseUrl}/v1/inbox` } : {}),
  reference: `${facts.baseUrl}/docs`,
});
