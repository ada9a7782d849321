import { createProjectionRunner, type RunnerOptions } from '../../src/projections/runner.ts';
import { supervise } from '../../src/workers/supervise.ts';

/** Projections of a test, which go on after a fault. */
export interface RunningProjections {
  /** How they ended; null: they are running. */
  ended(): 'ok' | Error | null;
  stop(): Promise<'ok' | Error>;
  /** The same. @throws what ended them before. */
  close(): Promise<void>;
}

/**
 * Runs projections. A connection that is not made in time ends a process of the service, which is then started again: here
 * the runner is. Only what another start would not change ends it for good.
 */
export const runProjections = (options: RunnerOptions): RunningProjections => {
  const runner = createProjectionRunner(options);
  let ended: 'ok' | Error | null = null;
  const onFatal = (error: unknown): void => {
    ended = error as Error; // of a class that `isFatal` knows
  };
  const loop = supervise({ ...options, onFatal }, 'projections', (signal) => runner.run(signal));
  const stop: RunningProjections['stop'] = async () => {
    await loop.stop();
    ended ??= 'ok';
    return ended;
  };
  return {
    ended: () => ended,
    stop,
    close: async () => {
      const how = await stop();
      if (how !== 'ok') throw how;
    },
  };
};
