import { parentPort } from 'node:worker_threads';
import { checkHtml } from './check-html.ts';

/** Entry of a thread: html in, problems out. */
parentPort?.on('message', (html: string) => parentPort?.postMessage({ result: checkHtml(html) }));
