import { parentPort } from 'node:worker_threads';
import { type Reading, readMail } from './captured-mail.ts';

/** Entry of a thread: shared memory with a message and a question in, the answer out. */
parentPort?.on('message', ({ shared, reading }: { readonly shared: SharedArrayBuffer; readonly reading: Reading }) => {
  // Decoders refuse shared memory.
  const raw = Buffer.from(new Uint8Array(shared).slice().buffer);
  parentPort?.postMessage({ result: readMail(raw, reading) });
});
