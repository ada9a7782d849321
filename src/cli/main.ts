import { parseArgs } from 'node:util';
import { openOperator } from '../composition/open-operator.ts';
import { version } from '../composition/version.ts';
import { readConfig } from '../config.ts';
import { DomainError } from '../domain/domain-error.ts';
import { StartRefused } from '../domain/start-refused.ts';
import { requireSameLog } from '../projections/checkpoints.ts';
import {
  type Command,
  CommandFailed,
  type Invocation,
  optionsIn,
  type Result,
  requireOptions,
  takesName,
  UsageError,
} from './command.ts';
import { COMMANDS } from './commands.ts';

const help = (): string =>
  [
    'npm run outbox -- <command> [options]   (--json prints JSON; --version)',
    '',
    ...COMMANDS.flatMap(({ name, usage, summary }) => [`  ${name} ${usage}`.trimEnd(), `      ${summary}`]),
  ].join('\n');

const find = (words: readonly string[]): { command: Command; rest: readonly string[] } => {
  const command = COMMANDS.find(({ name }) => name.split(' ').every((word, index) => words[index] === word));
  if (command === undefined) {
    throw new UsageError(`there is no command '${words.join(' ')}': \`npm run outbox -- help\` lists them`);
  }
  return { command, rest: words.slice(command.name.split(' ').length) };
};

type ParseError = Error & { readonly code?: string };

/** Rewrites an error of Node's parser, which quotes the wrong word: `'--name <value>'`. */
const usageProblem = ({ code, message }: ParseError): string => {
  const word = /'([^' ]+)[^']*'/.exec(message)?.[1] ?? '';
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return `there is no option ${word}`;
  if (code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') return `'${word}' is not expected here`;
  return message.includes('does not take an argument') ? `${word} takes no value` : `${word} needs a value`;
};

const parse = (command: Command, rest: readonly string[]): Invocation & { json: boolean } => {
  try {
    const options = { ...optionsIn(command.usage), json: { type: 'boolean' } } as const;
    const { values, positionals } = parseArgs({
      args: [...rest],
      options,
      allowPositionals: takesName(command.usage),
    });
    return { values: values as Invocation['values'], positionals, json: values.json === true };
  } catch (error) {
    throw new UsageError(`${usageProblem(error as ParseError)}. Usage: ${command.name} ${command.usage}`.trim());
  }
};

const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const lines = (result: Readonly<Record<string, unknown>>): string =>
  Object.entries(result)
    .map(([name, value]) => `${name}: ${text(value)}`)
    .join('\n');

const plainText = (result: Result): string =>
  Array.isArray(result) ? result.map(lines).join('\n\n') : lines(result as Readonly<Record<string, unknown>>);

const print = (command: Command, result: Result, json: boolean): void => {
  const { textOf = plainText } = command;
  console.log(json ? JSON.stringify(result) : textOf(result));
};

const run = async (command: Command, invocation: Invocation): Promise<Result> => {
  requireOptions(command, invocation);
  if (command.needs === 'nothing') return await command.run(invocation);
  const config = readConfig(process.env);
  const operator = await openOperator(config);
  try {
    // Without the service's EVENTSTORE_URL, this shell finds another log in the same database.
    if (command.takesOtherLog !== true) await requireSameLog(operator.pool, await operator.store.logId());
    return await command.run(operator, invocation, config);
  } finally {
    await operator.close();
  }
};

const isExpected = (error: unknown): error is Error =>
  error instanceof UsageError ||
  error instanceof CommandFailed ||
  error instanceof DomainError ||
  error instanceof StartRefused;

let failureCode = 1;
try {
  const words = process.argv.slice(2);
  if (words.length === 0 || words[0] === 'help' || words.includes('--help') || words.includes('-h'))
    console.log(help());
  else if (words[0] === '--version' || words[0] === 'version') console.log(await version());
  else {
    const { command, rest } = find(words);
    failureCode = command.failureCode ?? failureCode;
    const { json, ...invocation } = parse(command, rest);
    const result = await run(command, invocation);
    print(command, result, json);
    process.exitCode = command.exitCode?.(result) ?? 0;
  }
} catch (error) {
  console.error(isExpected(error) ? error.message : error);
  process.exitCode = failureCode;
}
