import type { Logger } from '../domain/ports/logger.ts';

/** Closes parts in reverse order of opening, so that nothing is closed before what uses it. */
export interface Closers {
  add(name: string, close: () => Promise<void>): void;
  /** Closes everything once. A failure is logged and the rest is closed anyway. */
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

/** A running role. `stop` finishes or hands back its work. */
export interface RunningRole {
  stop(): Promise<void>;
}

/** How a role reports to the process. */
export interface RoleEvents {
  /** The role cannot continue and a restart alone does not help: the process must end with this error. */
  onFatal(error: unknown): void;
}
