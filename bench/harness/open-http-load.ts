import type { Closers } from '../../src/composition/closers.ts';
import type { HttpLoad, HttpLoadResult } from '../processes/http-load.ts';
import { openChild } from './child.ts';

/** Sends messages in a process of its own. @throws some were not answered 202: the figures would mean nothing. */
export const openHttpLoad = async (closers: Closers): Promise<(load: HttpLoad) => Promise<HttpLoadResult>> => {
  const child = await openChild(closers, { name: 'http-load' });
  return async (load) => {
    const result = await child.ask<HttpLoadResult>('run', load);
    if (result.failed > 0) throw new Error(`${result.failed} requests were not accepted, ${result.accepted} were`);
    return result;
  };
};
