import type { Closers } from '../../src/composition/lifecycle.ts';
import type { HttpLoad, HttpLoadResult } from '../processes/http-load.ts';
import { openChild } from './child.ts';

export interface HttpLoader {
  readonly pid: number;
  /** @throws if any response is not a 202, which would make the figures meaningless. */
  run(load: HttpLoad): Promise<HttpLoadResult>;
}

/** Starts a process that sends messages. */
export const openHttpLoad = async (closers: Closers): Promise<HttpLoader> => {
  const child = await openChild(closers, { name: 'http-load' });
  return {
    pid: child.pid,
    run: async (load) => {
      const result = await child.ask<HttpLoadResult>('run', load);
      if (result.failed > 0) throw new Error(`not all were accepted: ${JSON.stringify(result.statuses)}`);
      return result;
    },
  };
};
