import type { RuleName, Severity } from './rule-table.ts';

export interface Finding {
  readonly rule: RuleName;
  readonly severity: Severity;
  /** One sentence: what and where. */
  readonly message: string;
  /** Field of the request: `html`, `subject`, `attachments[0]`, `alternatives[0]`, `to[1]`. */
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
