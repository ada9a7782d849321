import { parseArgs } from 'node:util';
import {
  type Command,
  type Invocation,
  type OperatorCommand,
  optional,
  optionsIn,
  type Result,
  requireOptions,
  type ServiceCommand,
  takesName,
} from './command.ts';
import { CUSTOMER_COMMANDS } from './customer/commands.ts';
import { resolveTarget } from './customer/profile.ts';
import { createService } from './customer/service.ts';
import {
  CommandFailed,
  createTerminal,
  EXIT,
  fieldLines,
  printable,
  printableJson,
  type Terminal,
  UsageError,
} from './terminal.ts';

/**
 * Runs the command of the process's arguments. The modules that operator commands need, which are the whole service, are
 * loaded only for them.
 */

const allCommands = async (): Promise<readonly Command[]> => (await import('./commands.ts')).COMMANDS;

const linesOf = ({ name, usage, summary }: Command): readonly string[] => [
  `  ${name} ${usage}`.trimEnd(),
  `      ${summary}`,
];

const help = (commands: readonly Command[]): string => {
  const [ofCustomers, ofOperators] = [true, false].map((wanted) =>
    commands.filter((each) => CUSTOMER_COMMANDS.includes(each) === wanted).flatMap(linesOf),
  );
  return [
    'outbox <command> [options]   (--json prints JSON; --version)',
    '',
    'For customers, through the HTTP API (--profile NAME selects saved credentials):',
    ...(ofCustomers ?? []),
    '',
    "For operators, on the service's machine:",
    ...(ofOperators ?? []),
  ].join('\n');
};

const named = (commands: readonly Command[], words: readonly string[]): Command | undefined =>
  commands.find(({ name }) => name.split(' ').every((word, index) => words[index] === word));

/** If two commands share a name, the operator's is the one with `--organization`. */
const isOperators = (words: readonly string[]): boolean => words.some((word) => /^--organization(?:=|$)/.test(word));

const find = async (words: readonly string[]): Promise<Command> => {
  const customers = isOperators(words) ? undefined : named(CUSTOMER_COMMANDS, words);
  const command = customers ?? named(await allCommands(), words);
  if (command !== undefined) return command;
  throw noCommand(await allCommands(), words);
};

/** The words before the options. Later words may be secrets. */
const leading = (words: readonly string[]): readonly string[] => {
  const end = words.findIndex((word) => word.startsWith('-'));
  return end === -1 ? words : words.slice(0, end);
};

/** Commands that share the first word, such as `messages`. */
const groupOf = (commands: readonly Command[], [first]: readonly string[]): readonly Command[] =>
  commands.filter(({ name }) => name.split(' ')[0] === first);

const noCommand = (commands: readonly Command[], words: readonly string[]): UsageError => {
  const [first, second] = leading(words);
  if (first === undefined) return new UsageError('no command given. List commands with `outbox help`');
  const group = [...new Set(groupOf(commands, [first]).map(({ name }) => name.split(' ').slice(1).join(' ')))];
  if (group.length === 0) return new UsageError(`unknown command '${first}'. List commands with \`outbox help\``);
  const what = second === undefined ? `'${first}' needs a second word` : `unknown command '${first} ${second}'`;
  return new UsageError(`${what}: expected ${group.join(', ')}. See \`outbox help ${first}\``);
};

/** Help for all commands, one command, or all that share the first word. @throws {UsageError} if no command matches. */
const helpFor = (all: readonly Command[], words: readonly string[]): string => {
  const asked = leading(words);
  if (asked.length === 0) return help(all);
  const one = named(isOperators(words) ? all : [...CUSTOMER_COMMANDS, ...all], asked);
  const found = asked.length === 1 ? groupOf(all, asked) : [one].filter((each) => each !== undefined);
  if (found.length === 0) throw noCommand(all, asked);
  return found.flatMap(linesOf).join('\n');
};

/** Matches API keys, sign-in links and auditor tokens, which are never printed. */
const SECRET = /^ob_[a-z]+_/;

type ParseError = Error & { readonly code?: string };

/** Corrects an error of Node's parser, which quotes the option as `'--name <value>'`. */
const usageProblem = ({ code, message }: ParseError): string => {
  const word = /'([^' ]+)[^']*'/.exec(message)?.[1] ?? '';
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return `unknown option ${word}`;
  if (code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') {
    const kind = SECRET.exec(word)?.[0];
    return kind === undefined
      ? `unexpected argument '${word}'`
      : `do not pass '${kind}…' as an argument: your shell history now contains it. Revoke it, and pipe in or type its replacement when prompted`;
  }
  return message.includes('does not take an argument') ? `${word} takes no value` : `${word} needs a value`;
};

const parse = (command: Command, words: readonly string[]): Invocation & { json: boolean } => {
  const args = words.slice(command.name.split(' ').length);
  const profile = command.needs === 'service' ? '--profile NAME' : '';
  try {
    const { values, positionals } = parseArgs({
      args,
      options: { ...optionsIn(`${command.usage} ${profile} --json`) },
      allowPositionals: takesName(command.usage),
    });
    return { values: values as Invocation['values'], positionals, json: values.json === true };
  } catch (error) {
    throw new UsageError(`${usageProblem(error as ParseError)}. Usage: ${command.name} ${command.usage}`.trim());
  }
};

const plainText = (result: Result): string =>
  Array.isArray(result) ? result.map(fieldLines).join('\n\n') : fieldLines(result as Readonly<Record<string, unknown>>);

const print = (command: Command, result: Result, json: boolean): void => {
  const { textOf = plainText } = command;
  console.log(json ? printableJson(result) : printable(textOf(result)));
};

const runForOperator = async (
  command: OperatorCommand,
  invocation: Invocation,
  terminal: Terminal,
): Promise<Result> => {
  const { readConfig } = await import('../config.ts');
  const { openOperator } = await import('../composition/open-operator.ts');
  const { requireSameLog } = await import('../projections/checkpoints.ts');
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

/** Ctrl-C aborts what the command waits for; a second Ctrl-C ends the process. */
const interruptible = async <T>(command: Command, end: AbortController, work: () => Promise<T>): Promise<T> => {
  if (command.needs !== 'service' && !('endsBySignal' in command)) return work();
  const interrupt = (): void => {
    if (end.signal.aborted) process.exit(EXIT.interrupted);
    end.abort(new CommandFailed('interrupted', EXIT.interrupted));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupt);
  try {
    return await work();
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, interrupt);
  }
};

const runForCustomer = async (
  command: ServiceCommand,
  invocation: Invocation,
  terminal: Terminal,
): Promise<Result | undefined> => {
  const target = await resolveTarget(optional(invocation, 'profile'));
  const { signal, note } = terminal;
  return command.run(createService({ target, signal, note }), invocation, terminal);
};

const run = async (command: Command, invocation: Invocation, terminal: Terminal): Promise<Result | undefined> => {
  requireOptions(command, invocation);
  if (command.needs === 'nothing') return command.run(invocation, terminal);
  if (command.needs === 'service') return runForCustomer(command, invocation, terminal);
  return runForOperator(command, invocation, terminal);
};

const version = async (): Promise<string> => (await import('../composition/instances.ts')).version();

/**
 * Error classes of the service's modules. They are matched by name, because customer commands do not load those
 * modules.
 */
const EXPECTED: ReadonlySet<string> = new Set(['DomainError', 'StartRefused']);
const isExpected = (error: unknown): error is Error =>
  error instanceof UsageError || error instanceof CommandFailed || (error instanceof Error && EXPECTED.has(error.name));

// A closed pipe means the reader has seen enough (`outbox messages list | head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : EXIT.failed));

let failureCode: number = EXIT.failed;
try {
  const words = process.argv.slice(2);
  const asksHelp = words.includes('--help') || words.includes('-h');
  if (words.length === 0 || words[0] === 'help') console.log(helpFor(await allCommands(), words.slice(1)));
  else if (words[0] === '--version' || words[0] === 'version') console.log(await version());
  else if (asksHelp) console.log(helpFor(await allCommands(), words));
  else {
    const command = await find(words);
    failureCode = command.failureCode ?? failureCode;
    const { json, ...invocation } = parse(command, words);
    const end = new AbortController();
    const terminal = createTerminal({ json, signal: end.signal });
    const result = await interruptible(command, end, () => run(command, invocation, terminal));
    if (result !== undefined) print(command, result, json);
    process.exitCode = result === undefined ? 0 : (command.exitCode?.(result) ?? 0);
  }
} catch (error) {
  console.error(isExpected(error) ? printable(error.message) : error);
  process.exitCode = (error instanceof CommandFailed ? error.exitCode : undefined) ?? failureCode;
}
