import type { Readable } from 'node:stream';

/** What is kept of an answer: enough for an error message, too little to be worth sending us much. */
const ANSWER_BYTES_MAX = 1024;

/**
 * The first 1 kB of an answer as text; the rest is never read. A body that breaks off or comes too slowly ends where it
 * is: the status was there before it.
 */
export const readBeginning = async (body: Readable): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES_MAX) break; // leaving the loop destroys the stream
    }
  } catch {
    // what came is what is kept
  }
  // NUL can't be stored as text in PostgreSQL.
  return Buffer.concat(chunks).subarray(0, ANSWER_BYTES_MAX).toString('utf8').replaceAll('\0', '\ufffd');
};
