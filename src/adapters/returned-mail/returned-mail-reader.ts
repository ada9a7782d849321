import type { ReturnedMail } from '../../domain/bounce/report.ts';
import { createWorkerThreads } from '../worker-threads.ts';
import { readReturnedMail } from './read-returned-mail.ts';

export interface ReturnedMailReader {
  /** @throws {ThreadUnavailable} too much is waiting, or it took too long. */
  read(raw: Uint8Array): Promise<ReturnedMail>;
  close(): Promise<void>;
}

/** Read at once up to here: most reports, in about a millisecond. Larger ones go to a thread. */
const INLINE_BYTES_MAX = 16_000;
/** The largest, made to be slow, take a fifth of it. Longer holds a connection for nothing. */
const RUN_MS_MAX = 5_000;
const WAIT_MS_MAX = 10_000;
/** Reports come from outside, from nobody that is known yet. */
const OWNER = '';
/** One for each connection that there may be. */
const WAITING_MAX = 100;

/** Reads what came back without making the event loop wait for it. */
export const createReturnedMailReader = (): ReturnedMailReader => {
  const threads = createWorkerThreads<Uint8Array, ReturnedMail>({
    entry: new URL('./returned-mail-thread.ts', import.meta.url),
    ...{ threads: 1, runMsMax: RUN_MS_MAX, waitMsMax: WAIT_MS_MAX, tasksMax: WAITING_MAX },
  });
  return {
    read: async (raw) => (raw.length > INLINE_BYTES_MAX ? threads.run(raw, OWNER) : readReturnedMail(raw)),
    close: threads.close,
  };
};
