import type { InboundReport } from '../../domain/bounce/report.ts';
import { createWorkerThreads } from '../../lib/async/async.ts';
import { readInboundReport } from './read-inbound-report.ts';

export interface InboundReportReader {
  /**
   * @param network origin of the report. Its organization is not known yet, so networks take turns.
   * @throws {ThreadUnavailable} if too many are waiting, or it took too long.
   */
  read(raw: Uint8Array, network: string): Promise<InboundReport>;
  close(): Promise<void>;
}

/** Maximum size for inline reading, which fits most reports: about a millisecond. Larger ones go to a thread. */
const INLINE_BYTES_MAX = 16_000;
/** The largest reports, crafted to be slow, take a fifth of this. Longer only keeps a connection open. */
const RUN_MS_MAX = 5_000;
const WAIT_MS_MAX = 10_000;
/** One for each possible connection. */
const WAITING_MAX = 100;

/** Reads returned mail without blocking the event loop. */
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
