import { readFile, rm, stat } from 'node:fs/promises';
import type { Profiler } from 'node:inspector/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CpuMicros, createCpuMeter } from './cpu.ts';
import { sharesOf } from './stages.ts';
import { until } from './until.ts';

/** What one unit takes of a process, by stage. */
export interface Budget {
  /** For the start of the process. */
  readonly nodeOptions: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** @param unitsOf how much was done. @returns µs of processor time, the largest first. */
  during<T>(pid: number, work: () => Promise<T>, unitsOf: (result: T) => number): Promise<CpuMicros>;
}

const PRELOADED = fileURLToPath(new URL('profile-on-signal.ts', import.meta.url));

let opened = 0;

/**
 * The shares are of samples of its main thread, and the whole is what `/proc` says of the process: sampling itself, and
 * threads of V8 and of libuv, are spread over the stages.
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
