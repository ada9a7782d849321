import { setInterval } from 'node:timers/promises';

/**
 * Looks every so often while work goes on, until it is over. A look that fails is the last: the work tells what is wrong.
 * @returns the result of the work.
 */
export const lookWhile = async <T>(work: Promise<T>, everyMs: number, look: () => Promise<void>): Promise<T> => {
  const end = new AbortController();
  const watch = async (): Promise<void> => {
    for await (const _ of setInterval(everyMs, undefined, { signal: end.signal })) await look();
  };
  const watching = watch().catch(() => undefined); // also the end of the timer
  const result = await work.finally(() => end.abort());
  await watching;
  return result;
};
