import { readFile } from 'node:fs/promises';
import { lookWhile } from './look-while.ts';

const EVERY_MS = 100;
const PAGE_BYTES = 4096;
const MB = 1_000_000;

/** Resident memory of a process in MB, from `/proc`. */
export const residentMb = async (pid: number): Promise<number> => {
  const pages = Number((await readFile(`/proc/${pid}/statm`, 'utf8')).split(' ')[1]);
  return (pages * PAGE_BYTES) / MB;
};

/** Samples a process's memory during work. @returns the result and the maximum in MB. */
export const watchMemory = async <T>(pid: number, work: Promise<T>): Promise<{ result: T; mostMb: number }> => {
  let mostMb = await residentMb(pid);
  const result = await lookWhile(work, EVERY_MS, async () => {
    mostMb = Math.max(mostMb, await residentMb(pid));
  });
  return { result, mostMb };
};
