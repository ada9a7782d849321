/** Versions of the real server that the double imitates. They differ in subscriptions. */
export type ServerStyle = '23.10.8' | '24.6.0' | '24.10.5';

/**
 * Times at which checkpoints are sent.
 * - `on-time`: after every interval × window events searched
 * - `late`: the same, but delivered after later events
 * - `ahead`: names a position beyond an event that has not been delivered yet (the defect of servers before 24.10.5)
 * - `never`
 */
type CheckpointManners = 'on-time' | 'late' | 'ahead' | 'never';

interface DroppedCall {
  /** A gRPC status code. */
  readonly code: number;
  readonly details: string;
}

/** Faults to inject. Each can be switched on or off at any time. */
export interface BadDays {
  /** Statuses with which the next appends fail, one each. Nothing is written. */
  droppedAppends: DroppedCall[];
  /** Statuses with which the next reads and subscriptions fail, one each. */
  droppedReads: DroppedCall[];
  /** Number of appends that are written before their connection breaks. */
  unacknowledgedAppends: number;
  /** Number of appends that are written and never answered, although the connection stays open. */
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
