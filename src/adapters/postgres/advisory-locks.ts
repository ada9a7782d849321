/**
 * Numbers of the session locks that processes of this service agree by. (A lock belongs to one database.) Migrations use
 * 7310002, rate limits 7310006, projections 7310011 and 7310012.
 */
export const ADVISORY_LOCKS = {
  /** Held by the one service that uses an embedded server. */
  ownership: 7_310_001,
  /** Held by whoever looks whether this is the first start. */
  firstStart: 7_310_004,
  /** Shared by every running service; held alone by whoever copies the log away from under them. */
  log: 7_310_005,
} as const;
