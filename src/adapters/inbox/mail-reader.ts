import type { CapturedContent } from '../../domain/ports/mail.ts';
import { createWorkerThreads, TaskTooLong, ThreadUnavailable } from '../../lib/async/async.ts';
import { MailParserUnavailable } from '../../lib/mime/mime.ts';
import { type MailOutline, type Reading, type ReadResult, readMail } from './captured-mail.ts';

/**
 * Maximum size for inline reading, which takes 1 ms. Larger messages go to a thread, so that the event loop never
 * waits.
 */
const INLINE_BYTES_MAX = 10_000;
/** 25 MB take 0.4 s. Shorter rejects good mail, longer blocks the thread for other organizations. */
const RUN_MS_MAX = 5_000;
/** Shorter fails while large mail is captured, longer outlives the time limit of requests. */
const WAIT_MS_MAX = 10_000;
/** Queued messages, each in memory. Fewer reject readers, more use memory without being faster. */
const WAITING_MAX = 50;
const THREADS = 1;

export interface MailReader {
  /** @param owner owners with waiting work take turns. @throws {MailParserUnavailable} */
  outline(raw: Uint8Array, owner: string): Promise<MailOutline>;
  content(raw: Uint8Array, owner: string): Promise<CapturedContent>;
  attachment(raw: Uint8Array, place: number, owner: string): Promise<Uint8Array | null>;
  close(): Promise<void>;
}

const asUnavailable = (error: unknown): never => {
  if (error instanceof TaskTooLong || error instanceof ThreadUnavailable)
    throw new MailParserUnavailable(`captured mail was not read: ${error.message}`);
  throw error;
};

const sharedCopy = (raw: Uint8Array): SharedArrayBuffer => {
  const shared = new SharedArrayBuffer(raw.length);
  new Uint8Array(shared).set(raw);
  return shared;
};

export const createMailReader = (): MailReader => {
  const threads = createWorkerThreads<{ readonly shared: SharedArrayBuffer; readonly reading: Reading }, ReadResult>({
    entry: new URL('./read-mail-thread.ts', import.meta.url),
    threads: THREADS,
    runMsMax: RUN_MS_MAX,
    waitMsMax: WAIT_MS_MAX,
    tasksMax: WAITING_MAX,
  });

  const read = async (raw: Uint8Array, reading: Reading, owner: string): Promise<ReadResult> => {
    if (raw.length <= INLINE_BYTES_MAX) return readMail(Buffer.from(raw), reading);
    const shared = raw.buffer instanceof SharedArrayBuffer ? raw.buffer : sharedCopy(raw);
    return await threads.run({ shared, reading }, owner).catch(asUnavailable);
  };

  return {
    // The kind of a reading determines its result.
    outline: async (raw, owner) => (await read(raw, { kind: 'outline' }, owner)) as MailOutline,
    content: async (raw, owner) => (await read(raw, { kind: 'content' }, owner)) as CapturedContent,
    attachment: async (raw, place, owner) =>
      (await read(raw, { kind: 'attachment', place }, owner)) as Uint8Array | null,
    close: threads.close,
  };
};
