import { parentPort } from 'node:worker_threads';
import { readInboundReport } from './read-inbound-report.ts';

const answer = (raw: Uint8Array) => {
  try {
    return { result: readInboundReport(raw) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : 'unknown' };
  }
};

/** Entry of a thread: a mail in, what it says out. */
parentPort?.on('message', (raw: Uint8Array) => parentPort?.postMessage(answer(raw)));
