import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './line.ts';

const SYNCS = 200;
const PAGE_BYTES = 8192;
const NOISE_MS = 500;

/** Median time in milliseconds to make one page durable, as a commit does. */
export const syncMs = (folder: string): number => {
  const file = openSync(join(folder, 'sync'), 'w');
  const page = Buffer.alloc(PAGE_BYTES, 1);
  const times = Array.from({ length: SYNCS }, () => {
    writeSync(file, page, 0, PAGE_BYTES, 0);
    const beganMs = performance.now();
    fdatasyncSync(file);
    return performance.now() - beganMs;
  });
  closeSync(file);
  return median(times);
};

const cpuTimes = async (): Promise<{ readonly idle: number; readonly all: number }> => {
  const line = (await readFile('/proc/stat', 'utf8')).split('\n')[0] ?? '';
  const times = line.trim().split(/\s+/).slice(1, 9).map(Number);
  return { idle: (times[3] ?? 0) + (times[4] ?? 0), all: times.reduce((sum, time) => sum + time, 0) };
};

/** Share of the machine's CPUs that other processes use now, 0 to 1. Figures measured at 0.2 are too low. */
export const noise = async (): Promise<number> => {
  const before = await cpuTimes();
  await sleep(NOISE_MS);
  const after = await cpuTimes();
  return 1 - (after.idle - before.idle) / Math.max(1, after.all - before.all);
};

export const machineFacts = (): Readonly<Record<string, string | number>> => ({
  cpu: cpus()[0]?.model ?? 'unknown',
  cpus: cpus().length,
  memoryGb: Math.round(totalmem() / 2 ** 30),
  node: process.version,
});
