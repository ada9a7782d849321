import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Program } from '../../support/program.ts';

/** How tests use `loop-probe.ts` in a service. */

/** For the environment of the service. */
export const PROBED = { NODE_OPTIONS: `--import=${fileURLToPath(new URL('./loop-probe.ts', import.meta.url))}` };

/** The probe's unit of work takes so long on a quiet machine. */
const UNIT_MS = 20;

/** Processor time of the longest turn of the event loop since the call before, as a quiet machine would take it. */
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
