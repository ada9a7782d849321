import type { System } from '../domain/ports/system.ts';

/** More tries keep whoever waits busy, fewer give up on a blip. With the waits below it is about 1.4 s in all. */
const TRIES_MAX = 4;
const FIRST_WAIT_MS = 200;

/** Does it again, a little later each time, before giving up with the last fault. */
export const persistently = async <Result>(
  system: Pick<System, 'sleep'>,
  work: () => Promise<Result>,
): Promise<Result> => {
  for (let tried = 1; ; tried += 1) {
    try {
      return await work();
    } catch (error) {
      if (tried >= TRIES_MAX) throw error;
      await system.sleep(FIRST_WAIT_MS * 2 ** (tried - 1));
    }
  }
};
