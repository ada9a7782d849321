import type { RuleName, Severity } from './rule-table.ts';

export interface Finding {
  readonly rule: RuleName;
  readonly severity: Severity;
  /** The problem and its place, in one sentence. */
  readonly message: string;
  /** Request field: `html`, `subject`, `attachments[0]`, `alternatives[0]`, `to[1]`. */
  readonly field: string;
  /** One-based. Present for findings in `html` and `text`. */
  readonly line?: number;
  /** One-based, in UTF-16 code units. */
  readonly column?: number;
  /** The remedy, in one sentence. */
  readonly fix: string;
}

/**
 * Maximum number of findings over all rules, so that the response stays small whatever was sent. People do not read
 * more.
 */
export const FINDINGS_MAX = 100;

/** `fail`: at least one error. `warn`: at least one warning and no error. */
export type Verdict = 'pass' | 'warn' | 'fail';

export interface Analysis {
  /** 100 is clean. Each finding costs its rule's points, up to the rule's maximum. Never below 0. */
  readonly score: number;
  readonly verdict: Verdict;
  /** Errors first; at most `FINDINGS_MAX`. */
  readonly findings: readonly Finding[];
  /** Approximate size of the message when sent: bodies in UTF-8, attachments in base64. */
  readonly sizeBytes: number;
}
