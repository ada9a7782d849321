/**
 * Numbers of the session locks that processes of this service agree by, in one list so that no two meet. (A lock
 * belongs to one database.)
 */
export const ADVISORY_LOCKS = {
  /** Held by the one service that uses an embedded server. */
  ownership: 7_310_001,
} as const;
