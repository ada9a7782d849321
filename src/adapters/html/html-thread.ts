import { parentPort } from 'node:worker_threads';
import { type AnalysisInput, analyzeMessage } from './analyzer.ts';
import { htmlToText } from './html-to-text.ts';
import { checkWithShape, type HtmlToCheck } from './read-html.ts';
import { trackingPlaces } from './tracked-links.ts';

export type HtmlTask =
  | ({ readonly job: 'check' } & HtmlToCheck)
  | { readonly job: 'analyze'; readonly input: AnalysisInput }
  | { readonly job: 'derive-text'; readonly html: string }
  | { readonly job: 'find-links'; readonly html: string };

const run = (task: HtmlTask) => {
  switch (task.job) {
    case 'check':
      return checkWithShape(task);
    case 'analyze':
      return analyzeMessage(task.input);
    case 'derive-text':
      return htmlToText(task.html);
    case 'find-links':
      return trackingPlaces(task.html);
    default:
      return task satisfies never;
  }
};

const answer = (task: HtmlTask) => {
  try {
    return { result: run(task) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : 'unknown' };
  }
};

/** Entry of a thread: a job on HTML in, its result out. */
parentPort?.on('message', (task: HtmlTask) => parentPort?.postMessage(answer(task)));
