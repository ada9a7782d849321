import type { Command } from '../command.ts';
import { createCompletionCommand } from '../completion.ts';
import { runProgram } from '../run.ts';
import { CommandFailed } from '../terminal.ts';
import { CUSTOMER_COMMANDS } from './commands.ts';

/** The program of the package for customers, which `cli/build.mjs` bundles: no command of operators, no server. */

const COMMANDS: readonly Command[] = [...CUSTOMER_COMMANDS, createCompletionCommand(() => COMMANDS)];

await runProgram({
  commands: async () => COMMANDS,
  runForOperator: ({ name }) => Promise.reject(new CommandFailed(`${name} runs only on the machine of the service`)),
});
