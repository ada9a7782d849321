import type { MessageDraft } from '../message/draft.ts';
import type { RecordState } from '../sending-domain/events.ts';
import type { RuleName } from './rule-table.ts';

/** `error`: the message should not leave like this. `warning`: it will suffer. `info`: worth knowing. */
export type Severity = 'info' | 'warning' | 'error';

export interface Finding {
  readonly rule: RuleName;
  readonly severity: Severity;
  /** One sentence: what and where. */
  readonly message: string;
  /** Of the request: `html`, `subject`, `attachments[0]`, `to[1]`. */
  readonly field: string;
  /** One-based; of findings in `html` and `text`. */
  readonly line?: number;
  /** One-based, in UTF-16 code units. */
  readonly column?: number;
  /** One sentence: the remedy. */
  readonly fix: string;
}

/** Of all rules: more is no longer read, and the answer stays small whatever was sent. */
export const FINDINGS_MAX = 100;

/** `fail`: there is an error; `warn`: there is a warning. */
export type Verdict = 'pass' | 'warn' | 'fail';

export interface Analysis {
  /** 100 is clean; each rule takes its points per finding, up to its own maximum; never below 0. */
  readonly score: number;
  readonly verdict: Verdict;
  /** Errors first; at most `FINDINGS_MAX`. */
  readonly findings: readonly Finding[];
  /** About what the message weighs when it is sent: bodies in UTF-8, attachments in base64. */
  readonly sizeBytes: number;
}

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

/**
 * PORT: what there is to say about a message before it is sent. The same message gets the same analysis, whenever and
 * wherever it is asked for: nothing is looked up. Adapter: `adapters/analyzer`.
 */

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
