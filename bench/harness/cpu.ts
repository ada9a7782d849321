import { readdir, readFile } from 'node:fs/promises';
import { median } from './line.ts';

/** Clock tick on all common Linux machines (`getconf CLK_TCK`), in microseconds. */
const TICK_MICROS = 10_000;

/** A process to observe. With its children it is a server that works in many processes. */
export interface ObservedProcess {
  readonly pid: number;
  readonly children: boolean;
}

interface Usage {
  readonly parent: number;
  readonly own: number;
  /** Time of children that have ended. */
  readonly ended: number;
}

/** Reads fields 4 and 14 to 17 of `/proc/<pid>/stat` (proc(5)). The second field may contain spaces. */
const usageOf = async (pid: number): Promise<Usage> => {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''); // the process has ended
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const sum = (from: number): number => (fields[from] ?? 0) + (fields[from + 1] ?? 0);
  return { parent: fields[1] ?? 0, own: sum(11), ended: sum(13) };
};

const ticksOf = async (watched: readonly ObservedProcess[]): Promise<readonly number[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const usages = new Map(await Promise.all(pids.map(async (pid) => [pid, await usageOf(pid)] as const)));
  const childrenOf = Map.groupBy(pids, (pid) => usages.get(pid)?.parent ?? 0);
  const treeOf = (pid: number): number => {
    const { own, ended } = usages.get(pid) ?? { own: 0, ended: 0 };
    return (childrenOf.get(pid) ?? []).reduce((sum, child) => sum + treeOf(child), own + ended);
  };
  return watched.map(({ pid, children }) => (children ? treeOf(pid) : (usages.get(pid)?.own ?? 0)));
};

/** Processor time per unit in microseconds, by process. Together with the number of cores it bounds the throughput. */
export type CpuMicros = Readonly<Record<string, number>>;

export interface CpuMeter {
  /** @param unitsOf number of units done. */
  during<T>(work: () => Promise<T>, unitsOf: (result: T) => number): Promise<T>;
  /** Medians of the last rounds. */
  lastMicros(rounds: number): CpuMicros;
}

export const createCpuMeter = (watched: Readonly<Record<string, ObservedProcess>>): CpuMeter => {
  const names = Object.keys(watched);
  const rows: (readonly number[])[] = [];
  return {
    during: async (work, unitsOf) => {
      const before = await ticksOf(Object.values(watched));
      const result = await work();
      const after = await ticksOf(Object.values(watched));
      const units = Math.max(1, unitsOf(result));
      rows.push(after.map((ticks, index) => ((ticks - (before[index] ?? 0)) * TICK_MICROS) / units));
      return result;
    },
    lastMicros: (rounds) => {
      const last = rows.slice(-rounds);
      return Object.fromEntries(
        names.map((name, index) => [name, Math.round(median(last.map((row) => row[index] ?? 0)))]),
      );
    },
  };
};
