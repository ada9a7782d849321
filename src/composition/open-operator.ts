import { createLogger } from '../adapters/logger.ts';
import type { Config } from '../config.ts';
import { createClosers } from './lifecycle.ts';
import { type MailSettings, readMailSettings } from './mail-settings.ts';
import { type Engines, openEngines } from './open-engines.ts';

/** The engines for the operator's commands, with or without a running service. */
export interface Operator extends Engines {
  /** Of the last started service; undefined: none has started. */
  readonly mail: MailSettings | undefined;
  close(): Promise<void>;
}

/**
 * @param mayBeNew creates the built-in database if it is missing.
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
