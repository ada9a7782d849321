import { parentPort } from 'node:worker_threads';
import { parseMail } from './parse-mail.ts';

/** Entry of a thread: shared memory with a message in, what it says out. */
parentPort?.on('message', (shared: SharedArrayBuffer) => {
  // Decoders take no shared memory.
  const raw = Buffer.from(new Uint8Array(shared).slice().buffer);
  parentPort?.postMessage({ result: parseMail(raw) });
});
