import type { InboundReport } from '../../domain/bounce/report.ts';
import { createWorkerThreads } from '../../lib/async/async.ts';
import { readInboundReport } from './read-inbound-report.ts';

export interface InboundReportReader {
  /**
   * @param network where it comes from. No organization is known yet: networks take turns.
   * @throws {ThreadUnavailable} too much is waiting, or it took too long.
   */
  read(raw: Uint8Array, network: string): Promise<InboundReport>;
  close(): Promise<void>;
}

/** Read at once up to here: most reports, in about a millisecond. Larger ones go to a thread. */
const INLINE_BYTES_MAX = 16_000;
/** The largest, made to be slow, take a fifth of it. Longer holds a connection for nothing. */
const RUN_MS_MAX = 5_000;
const WAIT_MS_MAX = 10_000;
/** One for each connection that there may be. */
const WAITING_MAX = 100;

/** Reads what came back without making the event loop wait for it. */
export const createInboundReportReader = (): InboundReportReader => {
  const threads = createWorkerThreads<Uint8Array, InboundReport>({
    entry: new URL('./inbound-report-thread.ts', import.meta.url),
    threads: 1,
    runMsMax: RUN_MS_MAX,
    waitMsMax: WAIT_MS_MAX,
    tasksMax: WAITING_MAX,
  });
  return {
    read: async (raw, network) => (raw.length > INLINE_BYTES_MAX ? threads.run(raw, network) : readInboundReport(raw)),
    close: threads.close,
  };
};
