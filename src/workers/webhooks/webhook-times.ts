/** How long one post may take, and how long nobody else may make it. */
export interface WebhookTimes {
  /** A receiver that takes longer is told again (api.md, Webhooks). */
  readonly postMs: number;
  /** For the record of a try: shorter makes posts twice when the database is slow, longer delays what a crash lost. */
  readonly recordMs: number;
  /** Longer than both together, by what may wait its turn; longer delays what a crash lost. */
  readonly leaseMs: number;
}

export const WEBHOOK_TIMES: WebhookTimes = { postMs: 15_000, recordMs: 10_000, leaseMs: 60_000 };

/** How long after its claim a post may still begin, so that its answer and its record are in time. */
export const startWithinMs = ({ postMs, recordMs, leaseMs }: WebhookTimes): number => leaseMs - postMs - recordMs;
