import { readFile, rm, stat } from 'node:fs/promises';
import type { Profiler } from 'node:inspector/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CpuMicros, createCpuMeter } from './cpu.ts';
import { sharesOf } from './stages.ts';
import { until } from './until.ts';

/** Processor time per unit of a process, by stage. */
export interface Budget {
  /** Options for starting the process. */
  readonly nodeOptions: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** @param unitsOf number of units done. @returns microseconds of processor time, largest stage first. */
  during<T>(pid: number, work: () => Promise<T>, unitsOf: (result: T) => number): Promise<CpuMicros>;
}

const PRELOADED = fileURLToPath(new URL('profile-on-signal.ts', import.meta.url));

let opened = 0;

/**
 * Shares come from samples of the main thread, the total from `/proc`. The cost of sampling and of V8 and libuv threads
 * is therefore spread over the stages.
 */
export const createBudget = (folder: string): Budget => {
  opened += 1;
  const file = join(folder, `profile-${opened}.json`);
  const bytesWritten = async (): Promise<number | null> =>
    stat(file).then(
      ({ size }) => size,
      () => null,
    );
  return {
    nodeOptions: ['--import', PRELOADED],
    variables: { BENCH_PROFILE: file },
    during: async (pid, work, unitsOf) => {
      await rm(file, { force: true });
      const cpu = createCpuMeter({ process: { pid, children: false } });
      process.kill(pid, 'SIGUSR2');
      await until('the profile begins', async () => (await bytesWritten()) !== null);
      await cpu.during(work, unitsOf);
      process.kill(pid, 'SIGUSR2');
      await until('the profile', async () => ((await bytesWritten()) ?? 0) > 0);
      const shares = sharesOf(JSON.parse(await readFile(file, 'utf8')) as Profiler.Profile);
      const { process: whole = 0 } = cpu.lastMicros(1);
      return Object.fromEntries(Object.entries(shares).map(([stage, share]) => [stage, Math.round(share * whole)]));
    },
  };
};
