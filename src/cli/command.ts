import type { ParseArgsOptionsConfig } from 'node:util';
import type { Operator } from '../composition/open-operator.ts';
import type { Config } from '../config.ts';
import type { Service } from './customer/service.ts';
import { type Terminal, UsageError } from './terminal.ts';

export type Values = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export interface Invocation {
  readonly values: Values;
  readonly positionals: readonly string[];
}

/** The result of a command: one object or a list. It is printed as lines, or as JSON with `--json`. */
export type Result = Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[];

interface CommandDescription {
  /** Words after `outbox`. */
  readonly name: string;
  /**
   * The arguments, both for `--help` and for the parser: `NAME --to VALUE [--dry-run] [--cidr NETWORK,…]` accepts a
   * name, requires `--to` and allows `--cidr` to be repeated.
   */
  readonly usage: string;
  readonly summary: string;
  /** Exit code of the process. Absent: 0. */
  exitCode?(result: Result): number;
  /** Exit code if the command throws or cannot run; a wrong command line is `EXIT.usage` then. Absent: 1 for both. */
  readonly failureCode?: number;
  /** Formats the result for people. Absent: one line per field. */
  textOf?(result: Result): string;
}

/** A command that uses the service's engines. */
export interface OperatorCommand extends CommandDescription {
  readonly needs?: never;
  /** The command runs even if the log is not the one the read models were built from. It must check this itself. */
  readonly takesOtherLog?: true;
  run(operator: Operator, invocation: Invocation, config: Config, terminal: Terminal): Promise<Result>;
}

/** A command that needs no engines. */
export interface PlainCommand extends CommandDescription {
  readonly needs: 'nothing';
  /** The command ends when its terminal's signal aborts, instead of with the process. */
  readonly endsBySignal?: true;
  /** @returns undefined if everything has been printed already. */
  run(invocation: Invocation, terminal: Terminal): Result | Promise<Result | undefined>;
}

/** A command for customers. It uses a running service over HTTP and has no access to the database or SECRET_KEY. */
export interface ServiceCommand extends CommandDescription {
  readonly needs: 'service';
  /** @returns undefined if everything has been printed already. */
  run(service: Service, invocation: Invocation, terminal: Terminal): Promise<Result | undefined>;
}

export type Command = OperatorCommand | PlainCommand | ServiceCommand;

const OPTION = /--([a-z-]+)(?: ([^\s[\]|-][^\s\]]*))?/g;

/** Converts a usage text to options for Node's parser. */
export const optionsIn = (usage: string): ParseArgsOptionsConfig =>
  Object.fromEntries(
    [...usage.matchAll(OPTION)].map(([, name = '', value]) => [
      name,
      value === undefined ? { type: 'boolean' } : { type: 'string', multiple: value.includes(',…') },
    ]),
  );

/** True if the usage starts with a name instead of an option. */
export const takesName = (usage: string): boolean => /^[^-[]/.test(usage);

export const optional = ({ values }: Invocation, option: string): string | undefined => {
  const value = values[option];
  return typeof value === 'string' ? value : undefined;
};

const ENGLISH_LIST = new Intl.ListFormat('en');

const requireAll = (invocation: Invocation, options: readonly string[]): void => {
  const missing = options.filter((option) => (optional(invocation, option) ?? '') === '');
  if (missing.length === 0) return;
  const named = ENGLISH_LIST.format(missing.map((option) => `--${option}`));
  throw new UsageError(`${named} ${missing.length === 1 ? 'is' : 'are'} required`);
};

/** Requires the options with a value that are not in brackets. @throws {UsageError} naming all that are missing. */
export const requireOptions = ({ usage }: Pick<Command, 'usage'>, invocation: Invocation): void => {
  const always = Object.entries(optionsIn(usage.replaceAll(/\[[^\]]*\]/g, '')));
  requireAll(
    invocation,
    always.flatMap(([name, { type }]) => (type === 'string' ? [name] : [])),
  );
};

/** @throws {UsageError} if the option is missing. */
export const required = (invocation: Invocation, option: string): string => {
  requireAll(invocation, [option]);
  return optional(invocation, option) ?? '';
};

/** All values of a repeatable option; undefined if it is absent. */
export const repeated = ({ values }: Invocation, option: string): readonly string[] | undefined => {
  const value = values[option];
  return typeof value === 'object' ? value : undefined;
};

/** Parses a positive whole number. @throws {UsageError} */
export const optionalCount = (invocation: Invocation, option: string): number | undefined => {
  const text = optional(invocation, option);
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new UsageError(`--${option} must be a whole number, at least 1`);
  return Number(text);
};
