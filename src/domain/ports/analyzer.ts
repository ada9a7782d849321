/**
 * PORT: analyses a message before it is sent. The same message always gets the same analysis: nothing is looked up.
 * Adapter: `adapters/html`.
 */
import type { Analysis } from '../analysis/analysis.ts';
import type { MessageDraft } from '../message/draft.ts';
import type { RecordState } from '../sending-domain/events.ts';

/** What is known of the sending domain; an analysis asks no DNS. */
export interface DomainFacts {
  readonly name: string;
  readonly verified: boolean;
  /** Mail stays on this machine: nobody will ask for the domain's records. */
  readonly capturing: boolean;
  readonly spf: RecordState;
  readonly dkim: RecordState;
  readonly dmarc: RecordState;
}

export interface AnalyzedMessage {
  readonly draft: MessageDraft;
  readonly domain: DomainFacts;
}

export interface Analyzer {
  /**
   * @param organizationId those with work waiting take turns.
   * @throws {AnalysisUnavailable} it was not analysed: its turn did not come in time.
   * @throws {DomainError} `invalid_request`: it takes too long.
   */
  analyze(subject: AnalyzedMessage, organizationId: string): Promise<Analysis>;
  close(): Promise<void>;
}

/** A fault of ours, worth a retry. */
export class AnalysisUnavailable extends Error {
  override readonly name = 'AnalysisUnavailable';
}
