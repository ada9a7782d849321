import { setTimeout as sleep } from 'node:timers/promises';
import type { Load } from '../harness/load.ts';

/**
 * Messages per wave. With the pause below, even a small machine carries this load, and every fault meets some messages.
 */
const SINGLES = 4;
const PAUSE_MS = 100;
/** Maximum number of waves. More would only take longer to judge. */
const WAVES_MAX = 40;

/** Sends single messages, batches and messages to several recipients until the work ends. */
export const loadWhile = async (load: Load, work: () => Promise<void>): Promise<void> => {
  let isOver = false;
  const waves = async (): Promise<void> => {
    for (let wave = 0; wave < WAVES_MAX && !isOver; wave += 1) {
      await load.singles(SINGLES);
      await sleep(PAUSE_MS);
    }
  };
  const working = work().finally(() => {
    isOver = true;
  });
  await Promise.all([working, waves(), load.toMany(3), load.batch(10)]);
};
