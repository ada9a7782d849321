import { createProjectionRunner, type RunnerOptions } from '../../src/projections/runner.ts';
import { supervise } from '../../src/workers/supervise.ts';

/** Projections of a test. They restart after a fault. */
export interface RunningProjections {
  /** How they ended, or null while they run. */
  ended(): 'ok' | Error | null;
  stop(): Promise<'ok' | Error>;
  /** Stops them. @throws the error that ended them before. */
  close(): Promise<void>;
}

/**
 * Runs projections. In the service, a connection time-out ends the process, which is then restarted. Here the runner is
 * restarted. Only a fault that a restart would not cure ends it for good.
 */
export const runProjections = (options: RunnerOptions): RunningProjections => {
  const runner = createProjectionRunner(options);
  let ended: 'ok' | Error | null = null;
  const onFatal = (error: unknown): void => {
    ended = error as Error; // of a class that `isFatal` recognises
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
