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
  /**
   * @param organizationId those with work waiting take turns.
   * @throws {AnalysisUnavailable} it was not analysed: its turn did not come in time.
   * @throws {Refusal} `invalid_request`: it takes too long.
   */
  analyze(subject: AnalyzedMessage, organizationId: string): Promise<Analysis>;
  close(): Promise<void>;
}

/** A fault of ours, worth a retry. */
export class AnalysisUnavailable extends Error {
  override readonly name = 'AnalysisUnavailable';
}
