import { readFile, rm, stat } from 'node:fs/promises';
import type { Profiler } from 'node:inspector/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CpuMicros, createCpuMeter } from './cpu.ts';
import { sharesOf } from './stages.ts';
import { until } from './until.ts';

/** Records what a process does while it works, in a pass of its own: recording takes time. */
export interface Recorder {
  /** Options for starting the process. */
  readonly nodeOptions: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** @returns what `profile-on-signal.ts` recorded. */
  during(pid: number, work: () => Promise<unknown>): Promise<unknown>;
}

const PRELOADED = fileURLToPath(new URL('profile-on-signal.ts', import.meta.url));

let opened = 0;

export const createRecorder = (folder: string, records: 'processor time' | 'allocations'): Recorder => {
  opened += 1;
  const file = join(folder, `recording-${opened}.json`);
  const bytesWritten = async (): Promise<number | null> =>
    stat(file).then(
      ({ size }) => size,
      () => null,
    );
  return {
    nodeOptions: ['--import', PRELOADED],
    variables: { BENCH_RECORDING: file, BENCH_RECORDS: records },
    during: async (pid, work) => {
      await rm(file, { force: true });
      process.kill(pid, 'SIGUSR2');
      await until('the recording begins', async () => (await bytesWritten()) !== null);
      await work();
      process.kill(pid, 'SIGUSR2');
      await until('the recording', async () => ((await bytesWritten()) ?? 0) > 0);
      return JSON.parse(await readFile(file, 'utf8'));
    },
  };
};

/**
 * Processor time per unit of a process, by stage. Shares come from samples of the main thread, the total from `/proc`. The
 * cost of sampling and of V8 and libuv threads is therefore spread over the stages.
 * @param unitsOf number of units done.
 * @returns microseconds, largest stage first.
 */
export const budgetOf = async <T>(
  recorder: Recorder,
  pid: number,
  work: () => Promise<T>,
  unitsOf: (result: T) => number,
): Promise<CpuMicros> => {
  const cpu = createCpuMeter({ process: { pid, children: false } });
  const profile = await recorder.during(pid, () => cpu.during(work, unitsOf));
  const { process: whole = 0 } = cpu.lastMicros(1);
  const shares = sharesOf(profile as Profiler.Profile);
  return Object.fromEntries(Object.entries(shares).map(([stage, share]) => [stage, Math.round(share * whole)]));
};
