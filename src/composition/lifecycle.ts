import type { Logger } from '../domain/ports/logger.ts';

/** What was opened, closed in reverse: nothing is closed before what uses it. */
export interface Closers {
  add(name: string, close: () => Promise<void>): void;
  /** Closes everything once; what fails to close is logged, and the rest is closed all the same. */
  closeAll(): Promise<void>;
}

export const createClosers = (logger: Logger): Closers => {
  const open: { readonly name: string; readonly close: () => Promise<void> }[] = [];
  return {
    add: (name, close) => {
      open.push({ name, close });
    },
    closeAll: async () => {
      for (let last = open.pop(); last !== undefined; last = open.pop()) {
        const { name, close } = last;
        await close().catch((error: unknown) => logger.error({ err: error, part: name }, 'a part did not close'));
      }
    },
  };
};

/** A role as it runs: told to stop, it finishes or gives back what it has in hand. */
export interface RunningRole {
  stop(): Promise<void>;
}

/** What a role tells the process around it. */
export interface RoleEvents {
  /** The role cannot go on, and a restart alone will not help: the process must end, and say so. */
  onFatal(error: unknown): void;
}
