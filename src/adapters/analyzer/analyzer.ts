import type { Analysis } from '../../domain/analysis/analysis.ts';
import { AnalysisUnavailable, type Analyzer } from '../../domain/analysis/analyzer.ts';
import { createWorkerThreads, ThreadUnavailable } from '../worker-threads.ts';
import { type AnalysisInput, analyzeMessage, inputOf } from './analyze-message.ts';

/** Analysed at once up to here (some 2 ms); larger bodies go to a thread. Handing one over costs about 50 µs. */
const INLINE_CHARACTERS_MAX = 8_000;
/** Up to here the worst takes 50 ms. What is larger has a thread of its own, so that ordinary mail never waits for it. */
const ORDINARY_CHARACTERS_MAX = 120_000;
/** The worst megabytes take 0.7 s. Shorter refuses good mail on a busy machine, longer keeps a client waiting for nothing. */
const TIME_LIMIT_MS = 5_000;
/** Bodies held while they wait for either thread, each of at most two megabytes. */
const WAITING_MAX = 64;

const unavailable = (error: unknown): never => {
  if (error instanceof ThreadUnavailable) throw new AnalysisUnavailable(`not analysed: ${error.message}`);
  throw error;
};

export interface AnalyzerOptions {
  readonly timeLimitMs?: number;
}

const charactersOf = ({ html = '', text = '' }: AnalysisInput): number => html.length + text.length;

/** Small messages are analysed where they are, others in a thread, so that the event loop never waits for one. */
export const createAnalyzer = (options: AnalyzerOptions = {}): Analyzer => {
  const openThread = () =>
    createWorkerThreads<AnalysisInput, Analysis>({
      entry: new URL('./analyze-message-thread.ts', import.meta.url),
      threads: 1,
      timeLimitMs: options.timeLimitMs ?? TIME_LIMIT_MS,
      tasksMax: WAITING_MAX,
    });
  const ordinary = openThread();
  const large = openThread();
  return {
    analyze: async (subject) => {
      const input = inputOf(subject);
      const characters = charactersOf(input);
      if (characters <= INLINE_CHARACTERS_MAX) return analyzeMessage(input);
      const thread = characters <= ORDINARY_CHARACTERS_MAX ? ordinary : large;
      return await thread.run(input).catch(unavailable);
    },
    close: async () => {
      await Promise.all([ordinary.close(), large.close()]);
    },
  };
};
