import recorded from './recorded-answers.json' with { type: 'json' };

/** A success of an operation. */
export interface RecordedAnswer {
  /** Values of the parameters of its path and its query. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** JSON, or text. Absent: no body, or bytes. */
  readonly body?: unknown;
}

/**
 * One success of each operation, as a running service answered it: test/end-to-end/recorded-answers.test.ts writes them.
 */
export const RECORDED_ANSWERS: Readonly<Record<string, RecordedAnswer>> = recorded;
