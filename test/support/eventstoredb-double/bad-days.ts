/** Which real node the double behaves as (they differ where subscriptions are concerned). */
export type ServerStyle = '23.10.8' | '24.6.0' | '24.10.5';

/**
 * - `on-time`: after every interval × window events searched
 * - `late`: the same, but delivered behind events that came after it
 * - `ahead`: names a position beyond an event that is still to be delivered (the defect of servers before 24.10.5)
 * - `never`
 */
type CheckpointManners = 'on-time' | 'late' | 'ahead' | 'never';

interface DroppedCall {
  /** A gRPC status code. */
  readonly code: number;
  readonly details: string;
}

/** What goes wrong; all of it can be switched at any time. */
export interface BadDays {
  /** Appends that are accepted and then dropped with this status, one after another; nothing is written. */
  droppedAppends: DroppedCall[];
  /** The same for reads and subscriptions. */
  droppedReads: DroppedCall[];
  /** Appends that are written, and whose connection then breaks. */
  unacknowledgedAppends: number;
  /** Appends that are written, and never answered, though the connection lives. */
  unansweredAppends: number;
  checkpoints: CheckpointManners;
}

export const goodDays = (): BadDays => ({
  droppedAppends: [],
  droppedReads: [],
  unacknowledgedAppends: 0,
  unansweredAppends: 0,
  checkpoints: 'on-time',
});
