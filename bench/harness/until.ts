import { setTimeout as sleep } from 'node:timers/promises';

/** Far above any normal run: longer means that something is stuck. */
const PATIENCE_MS = 300_000;
/** Shorter: polling takes processor time from the measurement. Longer: coarser figures. */
const LOOK_EVERY_MS = 50;

/** @throws if the condition does not hold in time. */
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
