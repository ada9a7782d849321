import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newFolder } from '../harness/folder.ts';
import type { Environment, Programs } from '../harness/programs.ts';

/** The programs' wall clock. Timers and other monotonic clocks are not affected. */
export interface Clock {
  /** Environment for programs that use this clock, at any start. */
  readonly env: Environment;
  /** Milliseconds since the epoch. */
  now(): number;
  /** @param ms change relative to the current time; may be negative. */
  jump(ms: number): Promise<void>;
  remove(): Promise<void>;
}

const PRELOAD = fileURLToPath(new URL('shifting-clock.ts', import.meta.url));

const isUp = ({ child }: ReturnType<Programs['running']>): boolean =>
  child.exitCode === null && child.signalCode === null;

/** @param programs the programs that use it, once they exist. */
export const createClock = async (programs: () => Programs | undefined): Promise<Clock> => {
  const folder = await newFolder();
  const file = join(folder.path, 'shift');
  let shiftMs = 0;
  await writeFile(file, String(shiftMs));
  return {
    env: { NODE_OPTIONS: `--import=${PRELOAD}`, CHAOS_CLOCK: file },
    now: () => Date.now() + shiftMs,
    jump: async (ms) => {
      shiftMs += ms;
      await writeFile(file, String(shiftMs));
      const running = programs();
      for (const name of running?.names ?? []) {
        const program = running?.running(name);
        if (program !== undefined && isUp(program)) program.child.kill('SIGUSR2');
      }
    },
    remove: folder.remove,
  };
};
