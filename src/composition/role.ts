/** A role as it runs: told to stop, it finishes or gives back what it has in hand. */
export interface RunningRole {
  stop(): Promise<void>;
}

/** What a role tells the process around it. */
export interface RoleEvents {
  /** The role cannot go on, and a restart alone will not help: the process must end, and say so. */
  onFatal(error: unknown): void;
}
