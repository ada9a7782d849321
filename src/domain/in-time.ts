import type { System } from './ports/system.ts';

/** Made once: an abort without a reason makes an error with its stack each time. */
const ENDED = new Error('in time');

/**
 * What `work` comes to, if it does within `ms`. Otherwise it is not stopped, only waited for no longer, and what it
 * does later is ignored.
 * @throws what `late` makes.
 */
export const inTime = async <T>(
  system: Pick<System, 'sleep'>,
  ms: number,
  work: Promise<T>,
  late: () => Error,
): Promise<T> => {
  const ended = new AbortController();
  const deadline = async (): Promise<never> => {
    await system.sleep(ms, ended.signal);
    throw late();
  };
  try {
    return await Promise.race([work, deadline()]);
  } finally {
    ended.abort(ENDED);
  }
};
