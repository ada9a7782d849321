/**
 * PORT: when each secret of a key was last used, kept to the minute, beside the events and not in them. Adapters:
 * `adapters/usage-marks/{in-memory,postgres}`.
 */

/** A key keeps its id when it is rotated; each of its secrets has a mark of its own. */
export interface UsedSecret {
  readonly keyId: string;
  /** SHA-256 of the secret, hex. */
  readonly secretHash: string;
}

export interface UsageMark extends UsedSecret {
  readonly lastUsedAt: Date;
  /** Where the last request came from. */
  readonly lastAddress: string;
}

/** How long a mark may wait in memory: longer loses more in a crash, shorter writes more often for nothing. */
export const USAGE_FLUSH_MS = 60_000;

export interface UsageMarks {
  /** Notes a use in memory: no round trip, and nobody waits for it. */
  mark(mark: UsageMark): void;
  /** Marks of these keys' secrets, the ones still in memory included; a secret that was never used has none. */
  of(keyIds: readonly string[]): Promise<readonly UsageMark[]>;
  /** Writes what is in memory, in one statement. */
  flush(): Promise<void>;
  /** Flushes a last time. */
  close(): Promise<void>;
}
