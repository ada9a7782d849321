import type { InboundReader, ReadMail } from '../../domain/ports/inbound.ts';
import { createWorkerThreads, TaskTooLong } from '../../lib/async/async.ts';
import type { InboundTask } from './read-inbound.ts';

/** Mail up to this size is read inline: a millisecond, and 20 if it is crafted to be slow. Larger mail goes to a thread. */
const INLINE_BYTES_MAX = 4_000;
/** 25 MB of ordinary parts take a second. Longer blocks the thread for other mail, shorter gives up on large html. */
const RUN_MS_MAX = 5_000;
/** The client waits ten minutes for its reply (RFC 5321 §4.5.3.2.6). */
const WAIT_MS_MAX = 30_000;
/** One for each connection that can receive mail. */
const WAITING_MAX = 100;
/** Header fields of a mail that could not be read in time. A longer header is crafted. */
const HEAD_BYTES_MAX = 64_000;

/** Loaded with the first mail: its libraries for html are large, and most processes receive no mail. */
const inline = () => import('./read-inbound.ts');

const orNull = (error: unknown): null => {
  if (error instanceof TaskTooLong) return null;
  throw error;
};

/** Reads inbound mail without blocking the event loop. */
export const createInboundReader = (): InboundReader => {
  const threads = createWorkerThreads<InboundTask, ReadMail>({
    entry: new URL('./inbound-thread.ts', import.meta.url),
    threads: 1,
    runMsMax: RUN_MS_MAX,
    waitMsMax: WAIT_MS_MAX,
    tasksMax: WAITING_MAX,
  });

  /** Tries with less work when it takes too long. */
  const readInThread = async (raw: Buffer, owner: string): Promise<ReadMail> => {
    const whole = await threads.run({ raw, isPlain: false }, owner).catch(orNull);
    const plain = whole ?? (await threads.run({ raw, isPlain: true }, owner).catch(orNull));
    return plain ?? (await inline()).readHead(raw.subarray(0, HEAD_BYTES_MAX), 'it takes too long to read');
  };
  return {
    read: async (raw, owner) =>
      raw.length <= INLINE_BYTES_MAX ? (await inline()).readInbound({ raw, isPlain: false }) : readInThread(raw, owner),
    close: threads.close,
  };
};
