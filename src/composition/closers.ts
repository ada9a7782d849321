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
