/**
 * PORT: the last use of each secret of a key, to the minute, stored separately from the events. Adapters:
 * `adapters/usage-marks/{in-memory,postgres}`.
 */

/** A secret of a key. A rotated key keeps its id, and each of its secrets has its own mark. */
export interface UsedSecret {
  readonly keyId: string;
  /** SHA-256 of the secret, in hex. */
  readonly secretHash: string;
}

export interface UsageMark extends UsedSecret {
  readonly lastUsedAt: Date;
  /** Client address of the last request. */
  readonly lastAddress: string;
}

/** Longest time that a mark waits in memory. Higher: a crash loses more. Lower: needless writes. */
export const USAGE_FLUSH_MS = 60_000;

export interface UsageMarks {
  /** Records a use in memory, without a round trip or waiting. */
  mark(mark: UsageMark): void;
  /** Marks of these keys' secrets, including those in memory. Unused secrets have none. */
  of(keyIds: readonly string[]): Promise<readonly UsageMark[]>;
  /** Writes the marks in memory with one statement. */
  flush(): Promise<void>;
  /** Flushes a last time. */
  close(): Promise<void>;
}
