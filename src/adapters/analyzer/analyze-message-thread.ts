import { parentPort } from 'node:worker_threads';
import { type AnalysisInput, analyzeMessage } from './analyze-message.ts';

const answer = (input: AnalysisInput) => {
  try {
    return { result: analyzeMessage(input) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : 'unknown' };
  }
};

/** Entry of a thread: a message in, its analysis out. */
parentPort?.on('message', (input: AnalysisInput) => parentPort?.postMessage(answer(input)));
