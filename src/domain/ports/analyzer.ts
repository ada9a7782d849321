/**
 * PORT: analyses a message before it is sent. The same message always gets the same analysis, because nothing is looked
 * up.
 * Adapter: `adapters/html`.
 */
import type { Analysis } from '../analysis/analysis.ts';
import type { MessageDraft } from '../message/draft.ts';
import type { RecordState } from '../sending-domain/events.ts';

/** Known facts about the sending domain. An analysis makes no DNS queries. */
export interface DomainFacts {
  readonly name: string;
  readonly verified: boolean;
  /** True if mail stays on this machine, so that no receiver will query the domain's records. */
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
   * Analyses a message.
   * @param organizationId organizations with waiting work take turns.
   * @throws {AnalysisUnavailable} if its turn did not come in time.
   * @throws {DomainError} `invalid_request` if it takes too long.
   */
  analyze(subject: AnalyzedMessage, organizationId: string): Promise<Analysis>;
  close(): Promise<void>;
}

/** A fault of this service. A retry may succeed. */
export class AnalysisUnavailable extends Error {
  override readonly name = 'AnalysisUnavailable';
}
