/** Errors of commands and the exit codes they cause. */

/** Exit codes other than 0 (docs/commands.md). Each command defines its own codes for differences and conflicts. */
export const EXIT = {
  failed: 1,
  different: 2,
  conflict: 3,
  unauthorized: 4,
  unavailable: 5,
  /** 128 plus the number of SIGINT, by shell convention. */
  interrupted: 130,
} as const;

/** An invalid command line. The message says what to type. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A command could not do its work. The message is for people. */
export class CommandFailed extends Error {
  override readonly name: string = 'CommandFailed';
  /** One of `EXIT`; undefined: the command's own failure code. */
  readonly exitCode: number | undefined;

  constructor(message: string, exitCode?: number) {
    super(message);
    this.exitCode = exitCode;
  }
}
