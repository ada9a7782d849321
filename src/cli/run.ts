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
import { isSignedIn, resolveTarget } from './customer/profile.ts';
import { createService, ServiceRefused } from './customer/service.ts';
import { descriptionOf } from './options.ts';
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
 * loaded only for them, and are not part of the package for customers.
 */

/** The commands of a program. */
export interface Program {
  /** All commands, including those for customers. */
  commands(): Promise<readonly Command[]>;
  runForOperator(command: OperatorCommand, invocation: Invocation, terminal: Terminal): Promise<Result>;
}

/** Says how to reach the operator's command of the same name, in a program that has one. */
const operatorHint = ({ name, needs }: Command, all: readonly Command[]): string => {
  const operators = all.find((one) => one.name === name && one.needs === undefined);
  if (needs === undefined || operators === undefined) return '';
  return ` (operators: add ${operators.usage.includes('--all') ? '--all' : '--organization'})`;
};

const linesOf = (command: Command, all: readonly Command[]): readonly string[] => [
  `  ${command.name} ${command.usage}`.trimEnd(),
  `      ${command.summary}${operatorHint(command, all)}`,
];

const help = (commands: readonly Command[]): string => {
  const [ofCustomers = [], ofOperators = []] = [true, false].map((wanted) =>
    commands.filter((each) => (each.needs === undefined) === !wanted).flatMap((each) => linesOf(each, commands)),
  );
  return [
    'outbox <command> [options]   (--json prints JSON; --version; outbox help <command> describes its options)',
    '',
    'Through the HTTP API (--profile NAME selects saved credentials):',
    ...ofCustomers,
    ...(ofOperators.length === 0 ? [] : ['', "For operators, on the service's machine:", ...ofOperators]),
  ].join('\n');
};

const optionLines = ({ name, usage, needs }: Command): readonly string[] => {
  const all = Object.keys(optionsIn(`${usage} ${needs === 'service' ? '--profile NAME' : ''} --json`));
  const width = Math.max(...all.map((option) => option.length));
  return all.map((option) => `      --${option.padEnd(width)}  ${descriptionOf(name, option)}`);
};

const named = (commands: readonly Command[], words: readonly string[]): Command | undefined =>
  commands.find(({ name }) => name.split(' ').every((word, index) => words[index] === word));

/** Options of the operator's command, if a customer's has the same name. */
const isOperators = (words: readonly string[]): boolean =>
  words.some((word) => /^--(?:organization(?:=.*)?|all)$/.test(word));

const namesProfile = (words: readonly string[]): boolean => words.some((word) => /^--profile(?:=.*)?$/.test(word));

const needsOrganization = ({ usage }: Command): boolean => /(?:^|[^[])--organization/.test(usage);

/**
 * The customer's of two commands with one name, unless there are no credentials and the operator's needs no organization:
 * `keys list` lists the keys of all organizations on the service's machine, and your own everywhere else.
 */
const find = async (program: Program, words: readonly string[]): Promise<Command> => {
  const customers = isOperators(words) ? undefined : named(CUSTOMER_COMMANDS, words);
  if (customers !== undefined && (namesProfile(words) || (await isSignedIn()))) return customers;
  const all = await program.commands();
  const operators = all.filter((command) => command.needs === undefined && !(customers && needsOrganization(command)));
  const command = named(operators, words) ?? customers ?? named(all, words);
  if (command !== undefined) return command;
  throw noCommand(all, words);
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
  const [only] = found;
  if (only === undefined || found.length > 1) return found.flatMap((each) => linesOf(each, all)).join('\n');
  return [...linesOf(only, all), ...optionLines(only)].join('\n');
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

const run = async (
  program: Program,
  command: Command,
  invocation: Invocation,
  terminal: Terminal,
): Promise<Result | undefined> => {
  requireOptions(command, invocation);
  if (command.needs === 'nothing') return command.run(invocation, terminal);
  if (command.needs === 'service') return runForCustomer(command, invocation, terminal);
  return program.runForOperator(command, invocation, terminal);
};

const version = async (): Promise<string> => (await import('../composition/instances.ts')).version();

/**
 * Error classes of the service's modules. They are matched by name, because customer commands do not load those
 * modules.
 */
const EXPECTED: ReadonlySet<string> = new Set(['DomainError', 'StartRefused']);
const isExpected = (error: unknown): error is Error =>
  error instanceof UsageError || error instanceof CommandFailed || (error instanceof Error && EXPECTED.has(error.name));

/** Name of an exit code in the table. */
const codeName = (exitCode: number): string =>
  Object.entries(EXIT).find(([, code]) => code === exitCode)?.[0] ?? 'failed';

/** An error as the service returns it, so that programs read both alike. */
const errorBody = (error: unknown, exitCode: number): object => {
  if (error instanceof ServiceRefused) return { error: error.body };
  const code = error instanceof UsageError ? 'usage' : codeName(exitCode);
  return { error: { message: error instanceof Error ? error.message : String(error), code } };
};

const printError = (error: unknown, exitCode: number, json: boolean): void => {
  if (json) console.error(printableJson(errorBody(error, exitCode)));
  else console.error(isExpected(error) ? printable(error.message) : error);
};

/** @returns the exit code. */
const runCommand = async (program: Program, command: Command, words: readonly string[]): Promise<number> => {
  const { json, ...invocation } = parse(command, words);
  const end = new AbortController();
  const terminal = createTerminal({ json, signal: end.signal });
  const result = await interruptible(command, end, () => run(program, command, invocation, terminal));
  if (result === undefined) return 0;
  print(command, result, json);
  return command.exitCode?.(result) ?? 0;
};

/** Text that the words ask for instead of a command; undefined: a command. */
const textFor = async (program: Program, words: readonly string[]): Promise<string | undefined> => {
  const [first] = words;
  if (first === undefined || first === 'help') return helpFor(await program.commands(), words.slice(1));
  if (first === '--version' || first === 'version') return version();
  const asksHelp = words.includes('--help') || words.includes('-h');
  return asksHelp ? helpFor(await program.commands(), words) : undefined;
};

/** @param failureCode of the command. */
const exitCodeAfter = (error: unknown, failureCode: number): number => {
  if (error instanceof UsageError && failureCode !== EXIT.failed) return EXIT.usage;
  return (error instanceof CommandFailed ? error.exitCode : undefined) ?? failureCode;
};

/** Runs the words of the process and sets its exit code. */
export const runProgram = async (program: Program): Promise<void> => {
  // A closed pipe means the reader has seen enough (`outbox messages list | head`).
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : EXIT.failed));
  const words = process.argv.slice(2);
  let failureCode: number = EXIT.failed;
  try {
    const text = await textFor(program, words);
    if (text !== undefined) return console.log(text);
    const command = await find(program, words);
    failureCode = command.failureCode ?? failureCode;
    process.exitCode = await runCommand(program, command, words);
  } catch (error) {
    process.exitCode = exitCodeAfter(error, failureCode);
    printError(error, process.exitCode, words.includes('--json'));
  }
};
