import { setInterval } from 'node:timers/promises';

/**
 * Samples at an interval while work is in progress. A failed sample ends the sampling, because the work reports the
 * cause.
 * @returns the result of the work.
 */
export const lookWhile = async <T>(work: Promise<T>, everyMs: number, look: () => Promise<void>): Promise<T> => {
  const end = new AbortController();
  const watch = async (): Promise<void> => {
    for await (const _ of setInterval(everyMs, undefined, { signal: end.signal })) await look();
  };
  const watching = watch().catch(() => undefined); // aborting the timer also rejects
  const result = await work.finally(() => end.abort());
  await watching;
  return result;
};
