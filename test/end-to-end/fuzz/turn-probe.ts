import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Program } from '../../support/program.ts';

/** Functions for tests that use `loop-probe.ts` in a service. */

/** Environment of the service. */
export const PROBED = { NODE_OPTIONS: `--import=${fileURLToPath(new URL('./loop-probe.ts', import.meta.url))}` };

/** Duration of the probe's unit of work on an idle machine. */
const UNIT_MS = 20;

/** The longest turn of the event loop, in processor time. */
export interface LongestTurn {
  readonly ms: number;
  /** In units of the probe's own work, which do not depend on how fast the machine is. */
  readonly units: number;
}

/** The longest turn since the previous call. */
export const longestTurn = async ({ output, child }: Program): Promise<LongestTurn> => {
  const before = output().length;
  child.kill('SIGUSR2');
  for (;;) {
    const last = /^loop-probe (\S+) (\S+)\n/m.exec(output().slice(before));
    if (last !== null) return { ms: Number(last[1]), units: Number(last[1]) / Number(last[2]) };
    await sleep(2);
  }
};

/** The longest turn since the previous call, in the milliseconds that an idle machine needs for it. */
export const longestTurnMs = async (program: Program): Promise<number> => (await longestTurn(program)).units * UNIT_MS;
