import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Program } from '../../support/program.ts';

/** Functions for tests that use `loop-probe.ts` in a service. */

/** Environment of the service. */
export const PROBED = { NODE_OPTIONS: `--import=${fileURLToPath(new URL('./loop-probe.ts', import.meta.url))}` };

/** Duration of the probe's unit of work on an idle machine. */
const UNIT_MS = 20;

/** Processor time of the longest turn of the event loop since the previous call, scaled to an idle machine. */
export const longestTurnMs = async ({ output, child }: Program): Promise<number> => {
  const printed = (): RegExpExecArray[] => [...output().matchAll(/^loop-probe (\S+) (\S+)$/gm)];
  const before = printed().length;
  child.kill('SIGUSR2');
  for (;;) {
    const last = printed().slice(before).at(-1);
    if (last !== undefined) return (Number(last[1]) / Number(last[2])) * UNIT_MS;
    await sleep(2);
  }
};
