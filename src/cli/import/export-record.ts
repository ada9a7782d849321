import { CommandFailed } from '../failures.ts';

export interface ExportRecord {
  /** Line of the file where the record starts, from 1. */
  readonly line: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

export const fail = (line: number, problem: string): CommandFailed => new CommandFailed(`line ${line}: ${problem}`);
