import { setImmediate } from 'node:timers/promises';
import { createWorkerThreads, TaskTooLong, ThreadUnavailable } from '../async/async.ts';
import {
  type LenientMail,
  type MailParser,
  MailParserUnavailable,
  type ParsedMail,
  parseMail,
  parseMailLeniently,
} from './parse-mail.ts';

/**
 * Maximum size for inline parsing: 1 ms, and 40 ms if the headers are crafted to be slow. Larger messages go to a
 * thread, which costs less than 1 ms.
 */
const INLINE_BYTES_MAX = 10_000;
/** Bytes copied in one turn of the event loop: about 1 ms. */
const TURN_BYTES_MAX = 4_000_000;
/** 25 MB take 0.4 s. Shorter rejects good mail, longer blocks the thread for other organizations. */
const RUN_MS_MAX = 5_000;
/** Clients wait longer than this for the reply to their data (RFC 5321 §4.5.3.2.6), but not forever. */
const WAIT_MS_MAX = 30_000;
/** Their memory is that of messages in flight, which are bounded by bytes. More would exceed the time limit. */
const WAITING_MAX = 500;
const THREADS = 1;

/** Copies the message into memory that a thread reads without another copy. */
const shared = async (chunks: readonly Uint8Array[], size: number): Promise<SharedArrayBuffer> => {
  const memory = new SharedArrayBuffer(size);
  const bytes = new Uint8Array(memory);
  let written = 0;
  let inTurn = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, written);
    written += chunk.length;
    inTurn += chunk.length;
    if (inTurn < TURN_BYTES_MAX) continue;
    inTurn = 0;
    await setImmediate();
  }
  return memory;
};

const orTooLong =
  <Result>(result: Result) =>
  (error: unknown): Result => {
    if (error instanceof TaskTooLong) return result;
    if (error instanceof ThreadUnavailable) throw new MailParserUnavailable(`mail was not parsed: ${error.message}`);
    throw error;
  };

/** A message to parse in a thread. */
export interface ParseTask {
  readonly memory: SharedArrayBuffer;
  readonly isLenient: boolean;
}

/** Parses small messages inline and large ones in a thread, so that none blocks the event loop. */
export const createMailParser = (): MailParser => {
  const workers = createWorkerThreads<ParseTask, ParsedMail | LenientMail | string>({
    entry: new URL('./parse-mail-thread.ts', import.meta.url),
    threads: THREADS,
    runMsMax: RUN_MS_MAX,
    waitMsMax: WAIT_MS_MAX,
    tasksMax: WAITING_MAX,
  });

  /** Null: the message is small. */
  const taskFor = async (chunks: readonly Uint8Array[], isLenient: boolean): Promise<ParseTask | null> => {
    const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    return size <= INLINE_BYTES_MAX ? null : { memory: await shared(chunks, size), isLenient };
  };

  return {
    parse: async (chunks, organizationId) => {
      const task = await taskFor(chunks, false);
      if (task === null) return parseMail(Buffer.concat(chunks));
      return await workers.run(task, organizationId).catch(orTooLong('it takes too long to parse'));
    },
    parseLeniently: async (chunks, organizationId) => {
      const task = await taskFor(chunks, true);
      if (task === null) return parseMailLeniently(Buffer.concat(chunks));
      return (await workers.run(task, organizationId).catch(orTooLong(null))) as LenientMail | null;
    },
    close: workers.close,
  };
};
