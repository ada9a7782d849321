import { parentPort } from 'node:worker_threads';
import { readReturnedMail } from './read-returned-mail.ts';

const answer = (raw: Uint8Array) => {
  try {
    return { result: readReturnedMail(raw) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : 'unknown' };
  }
};

/** Entry of a thread: a mail in, what it says out. */
parentPort?.on('message', (raw: Uint8Array) => parentPort?.postMessage(answer(raw)));
