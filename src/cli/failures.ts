/** How commands fail, and the codes that the process ends with then. */

/**
 * Codes that the process ends with, beside 0 (docs/commands.md). A command says what its own differences and conflicts are.
 */
export const EXIT = {
  failed: 1,
  different: 2,
  conflict: 3,
  unauthorized: 4,
  unavailable: 5,
  /** 128 and the number of SIGINT, as shells have it. */
  interrupted: 130,
} as const;

/** A mistake in the command line; the message says what to type. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A command that cannot do what it was asked to; the message is for people. */
export class CommandFailed extends Error {
  override readonly name: string = 'CommandFailed';
  /** One of `EXIT`; undefined: the command's own. */
  readonly exitCode: number | undefined;

  constructor(message: string, exitCode?: number) {
    super(message);
    this.exitCode = exitCode;
  }
}
