import { CommandFailed } from '../failures.ts';

export interface ExportRecord {
  /** Of the file, on which it begins, from 1. */
  readonly line: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

export const fail = (line: number, problem: string): CommandFailed => new CommandFailed(`line ${line}: ${problem}`);
