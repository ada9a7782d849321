import { parentPort } from 'node:worker_threads';
import { parseMail } from './parse-mail.ts';
import { PiecesBlob } from './pieces-blob.ts';

// The thread's own: nothing else runs here.
globalThis.Blob = PiecesBlob;

/** Entry of a thread: shared memory with a message in, what it says out. */
parentPort?.on('message', async (shared: SharedArrayBuffer) => {
  // Decoders take no shared memory.
  const raw = Buffer.from(new Uint8Array(shared).slice().buffer);
  parentPort?.postMessage({ result: await parseMail(raw) });
});
