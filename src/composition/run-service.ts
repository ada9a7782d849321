import { createLogger } from '../adapters/logger.ts';
import { type Config, readConfig } from '../config.ts';
import type { Logger } from '../domain/logger.ts';
import { StartRefused } from '../domain/start-refused.ts';
import { readyBlock } from './ready-block.ts';
import { type Service, startService } from './start-service.ts';

/** A part that does not close by itself keeps the process no longer than this: containers are killed after 10 s more. */
const STOP_MS_MAX = 20_000;

const failed = (error: unknown, logger: Logger | undefined): void => {
  process.exitCode = 1;
  if (error instanceof StartRefused || logger === undefined) process.stderr.write(`${(error as Error).message}\n`);
  else logger.error({ err: error }, 'the service stops');
};

const announce = (config: Config, { baseUrl, firstKeys, places }: Service): void => {
  const capturing = config.mail.kind === 'capture';
  if (baseUrl !== undefined) process.stdout.write(readyBlock({ baseUrl, firstKeys, capturing, places }));
  else process.stdout.write(`Outbox is ready (${[...config.roles].join(', ')})\n${places.join('\n')}\n`);
};

/** Runs the service from the environment's configuration until it is told to end, or cannot go on (exit code 1). */
export const runService = async (): Promise<void> => {
  let logger: Logger | undefined;
  try {
    const config = readConfig(process.env);
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
    const service = await startService(config, logger, { onFatal });
    announce(config, service);
    await told;
    setTimeout(() => process.exit(1), STOP_MS_MAX).unref();
    await service.stop();
  } catch (error) {
    failed(error, logger);
  }
};
