/**
 * PORT: what there is to say about a message before it is sent. The same message gets the same analysis, whenever and
 * wherever it is asked for: nothing is looked up. Adapter: `adapters/analyzer`.
 */

import type { MessageDraft } from '../message/draft.ts';
import type { Analysis, DomainFacts } from './analysis.ts';

export interface AnalyzedMessage {
  readonly draft: MessageDraft;
  readonly domain: DomainFacts;
}

export interface Analyzer {
  /** @throws {AnalysisUnavailable} it was not analysed: the threads are busy or a time limit ended it. */
  analyze(subject: AnalyzedMessage): Promise<Analysis>;
  close(): Promise<void>;
}

/** A fault of ours, worth a retry: analysing takes time in proportion to the size, so a limit means a busy machine. */
export class AnalysisUnavailable extends Error {
  override readonly name = 'AnalysisUnavailable';
}
