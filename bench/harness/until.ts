import { setTimeout as sleep } from 'node:timers/promises';

/** Far above what any run needs: then something is stuck. */
const PATIENCE_MS = 120_000;
/** Asking takes processor time from what is measured; asking seldom makes a figure coarse. */
const LOOK_EVERY_MS = 50;

/** @throws it is not so after a time in which it should be. */
export const until = async (
  what: string,
  isSo: () => Promise<boolean>,
  patienceMs: number = PATIENCE_MS,
): Promise<void> => {
  const deadlineMs = performance.now() + patienceMs;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`${what}: not within ${patienceMs} ms`);
    await sleep(LOOK_EVERY_MS);
  }
};
