import { createLogger } from '../adapters/logger.ts';
import type { Config } from '../config.ts';
import { createClosers } from './lifecycle.ts';
import { type MailSettings, readMailSettings } from './mail-settings.ts';
import { type Engines, openEngines } from './open-engines.ts';

/** The engines as the operator's commands use them: beside a running service, or without one. */
export interface Operator extends Engines {
  /** Of the service that started last; undefined: none has yet. */
  readonly mail: MailSettings | undefined;
  close(): Promise<void>;
}

/**
 * @param mayBeNew makes the built-in database where there is none: for what sets up an Outbox before it is started.
 * @throws {StartRefused}
 */
export const openOperator = async (config: Config, { mayBeNew = false } = {}): Promise<Operator> => {
  const level = config.logLevel === 'info' ? 'warn' : config.logLevel;
  const logger = createLogger({ level });
  const closers = createClosers(logger);
  try {
    const engines = await openEngines({ config, logger, closers, owner: false, mustExist: !mayBeNew });
    return { ...engines, mail: await readMailSettings(engines.context.secrets), close: closers.closeAll };
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
};
