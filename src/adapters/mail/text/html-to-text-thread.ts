import { parentPort } from 'node:worker_threads';
import { htmlToText } from './html-to-text.ts';

const answer = (html: string) => {
  try {
    return { result: htmlToText(html) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : 'unknown' };
  }
};

/** Entry of a thread: html in, text out. */
parentPort?.on('message', (html: string) => parentPort?.postMessage(answer(html)));
