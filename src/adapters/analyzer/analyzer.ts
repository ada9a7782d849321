import type { Analysis } from '../../domain/analysis/analysis.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { AnalysisUnavailable, type Analyzer } from '../../domain/ports/analyzer.ts';
import { createWorkerThreads, TaskTooLong, ThreadUnavailable } from '../worker-threads.ts';
import { type AnalysisInput, analyzeMessage, inputOf } from './analyze-message.ts';

/** Analysed at once up to here (some 2 ms); larger bodies go to a thread. Handing one over costs about 50 µs. */
const INLINE_CHARACTERS_MAX = 8_000;
/** Up to here the worst takes 50 ms. What is larger has a thread of its own, so that ordinary mail never waits for it. */
const ORDINARY_CHARACTERS_MAX = 120_000;
/** The worst megabytes take 0.6 s. Shorter refuses good mail, longer keeps the thread from other organizations. */
const RUN_MS_MAX = 1_000;
/** Clients are told 503 after 15 s. Longer does work nobody waits for. */
const WAIT_MS_MAX = 12_000;
/** Bodies held while they wait for either thread, each of at most two megabytes. */
const WAITING_MAX = 64;

const failed = (error: unknown): never => {
  if (error instanceof TaskTooLong) {
    const problem = `html takes longer than ${RUN_MS_MAX} ms to analyse: use fewer elements and attributes`;
    throw new DomainError('invalid_request', problem, { details: { html: [problem] } });
  }
  if (error instanceof ThreadUnavailable) throw new AnalysisUnavailable(`not analysed: ${error.message}`);
  throw error;
};

export interface AnalyzerOptions {
  readonly waitMsMax?: number;
}

const charactersOf = ({ html = '', text = '' }: AnalysisInput): number => html.length + text.length;

/** Small messages are analysed where they are, others in a thread, so that the event loop never waits for one. */
export const createAnalyzer = (options: AnalyzerOptions = {}): Analyzer => {
  const openThread = () =>
    createWorkerThreads<AnalysisInput, Analysis>({
      entry: new URL('./analyze-message-thread.ts', import.meta.url),
      threads: 1,
      runMsMax: RUN_MS_MAX,
      waitMsMax: options.waitMsMax ?? WAIT_MS_MAX,
      tasksMax: WAITING_MAX,
    });
  const ordinary = openThread();
  const large = openThread();
  return {
    analyze: async (subject, organizationId) => {
      const input = inputOf(subject);
      const characters = charactersOf(input);
      if (characters <= INLINE_CHARACTERS_MAX) return analyzeMessage(input);
      const thread = characters <= ORDINARY_CHARACTERS_MAX ? ordinary : large;
      return await thread.run(input, organizationId).catch(failed);
    },
    close: async () => {
      await Promise.all([ordinary.close(), large.close()]);
    },
  };
};
