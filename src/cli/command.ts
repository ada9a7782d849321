import type { ParseArgsOptionsConfig } from 'node:util';
import type { Operator } from '../composition/open-operator.ts';
import type { Config } from '../config.ts';
import type { Service } from './customer/service.ts';
import { UsageError } from './failures.ts';
import type { Terminal } from './terminal.ts';

export type Values = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export interface Invocation {
  readonly values: Values;
  readonly positionals: readonly string[];
}

/** The result of a command: one object or a list. Printed as lines, or with `--json` as JSON. */
export type Result = Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[];

interface Described {
  /** Words after `npm run outbox --`. */
  readonly name: string;
  /**
   * Arguments as `--help` shows them and as they are parsed: `NAME --to VALUE [--dry-run] [--cidr NETWORK,…]` takes a name,
   * requires `--to`, and `--cidr` can be repeated.
   */
  readonly usage: string;
  readonly summary: string;
  /** The code that the process ends with. Absent: 0. */
  exitCode?(result: Result): number;
  /** The same where the command cannot run, or throws. Absent: 1. */
  readonly failureCode?: number;
  /** The result as people read it. Absent: its fields, a line each. */
  textOf?(result: Result): string;
}

/** A command that uses the service's engines. */
export interface OperatorCommand extends Described {
  readonly needs?: never;
  /** Also runs when the log differs from the one that the read models were made from; it checks this itself. */
  readonly takesOtherLog?: true;
  run(operator: Operator, invocation: Invocation, config: Config, terminal: Terminal): Promise<Result>;
}

/** A command without engines. */
export interface PlainCommand extends Described {
  readonly needs: 'nothing';
  /** Its terminal's signal ends it, in place of the process's own end. */
  readonly endsBySignal?: true;
  /** @returns undefined: all is printed. */
  run(invocation: Invocation, terminal: Terminal): Result | Promise<Result | undefined>;
}

/** A command for customers: it asks a running service by HTTP, and knows neither database nor SECRET_KEY. */
export interface ServiceCommand extends Described {
  readonly needs: 'service';
  /** @returns undefined: all is printed. */
  run(service: Service, invocation: Invocation, terminal: Terminal): Promise<Result | undefined>;
}

export type Command = OperatorCommand | PlainCommand | ServiceCommand;

const OPTION = /--([a-z-]+)(?: ([^\s[\]|-][^\s\]]*))?/g;

/** Options that a usage names, for Node's parser. */
export const optionsIn = (usage: string): ParseArgsOptionsConfig =>
  Object.fromEntries(
    [...usage.matchAll(OPTION)].map(([, name = '', value]) => [
      name,
      value === undefined ? { type: 'boolean' } : { type: 'string', multiple: value.includes(',…') },
    ]),
  );

/** Whether a usage begins with a name instead of an option. */
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

/** Requires the options with a value that are not in brackets. @throws {UsageError} names all missing ones. */
export const requireOptions = ({ usage }: Pick<Command, 'usage'>, invocation: Invocation): void => {
  const always = Object.entries(optionsIn(usage.replaceAll(/\[[^\]]*\]/g, '')));
  requireAll(
    invocation,
    always.flatMap(([name, { type }]) => (type === 'string' ? [name] : [])),
  );
};

/** @throws {UsageError} the option is missing. */
export const required = (invocation: Invocation, option: string): string => {
  requireAll(invocation, [option]);
  return optional(invocation, option) ?? '';
};

/** All values of a repeatable option; undefined: not given. */
export const repeated = ({ values }: Invocation, option: string): readonly string[] | undefined => {
  const value = values[option];
  return typeof value === 'object' ? value : undefined;
};

/** A positive whole number. @throws {UsageError} */
export const optionalCount = (invocation: Invocation, option: string): number | undefined => {
  const text = optional(invocation, option);
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new UsageError(`--${option} must be a whole number, at least 1`);
  return Number(text);
};
