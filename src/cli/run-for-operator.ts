import { openOperator } from '../composition/open-operator.ts';
import { readConfig } from '../config.ts';
import { requireSameLog } from '../projections/runner.ts';
import type { Invocation, OperatorCommand, Result } from './command.ts';
import type { Terminal } from './terminal.ts';

/** Runs a command with the engines of the service that the environment describes. */
export const runForOperator = async (
  command: OperatorCommand,
  invocation: Invocation,
  terminal: Terminal,
): Promise<Result> => {
  const config = readConfig(process.env);
  const operator = await openOperator(config);
  try {
    // Guards against a shell without the service's EVENTSTORE_URL, which would find another log in the same database.
    if (command.takesOtherLog !== true) await requireSameLog(operator.pool, await operator.store.logId());
    return await command.run(operator, invocation, config, terminal);
  } finally {
    await operator.close();
  }
};
