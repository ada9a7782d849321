import { setTimeout as sleep } from 'node:timers/promises';
import type { Load } from '../harness/load.ts';

/** Of a wave; with the pause below it is a load that a small machine carries with ease, and a fault always meets some. */
const SINGLES = 4;
const PAUSE_MS = 100;
/** In all: more only takes longer to be judged. */
const WAVES_MAX = 40;

/** Sends single messages, some to several recipients and some in batches, for as long as the work goes on. */
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
