/**
 * Limits a load by time or number, where each connection sends its next request after a response; or sends at a
 * constant rate, independent of responses.
 */
export type Extent =
  | { readonly seconds: number }
  | { readonly amount: number }
  | { readonly seconds: number; readonly perSecond: number };

export interface Pace {
  /** When the next request after `sent` was due; null: it is not due yet, or all were sent. */
  dueMs(sent: number, nowMs: number): number | null;
  isOver(sent: number, nowMs: number): boolean;
}

const SECOND_MS = 1_000;

const byAmount = (amount: number): Pace => ({
  dueMs: (sent, nowMs) => (sent < amount ? nowMs : null),
  isOver: (sent) => sent >= amount,
});

const untilMs = (endMs: number): Pace => ({
  dueMs: (_sent, nowMs) => (nowMs < endMs ? nowMs : null),
  isOver: (_sent, nowMs) => nowMs >= endMs,
});

/**
 * Requests are due on schedule even if all connections wait, so that a slow server is measured correctly (no
 * "coordinated omission").
 */
const atRate = (beganMs: number, seconds: number, perSecond: number): Pace => {
  const amount = Math.round(seconds * perSecond);
  return {
    dueMs: (sent, nowMs) => {
      const dueMs = beganMs + (sent * SECOND_MS) / perSecond;
      return sent < amount && dueMs <= nowMs ? dueMs : null;
    },
    isOver: (sent) => sent >= amount,
  };
};

export const createPace = (extent: Extent, beganMs: number): Pace => {
  if ('amount' in extent) return byAmount(extent.amount);
  if ('perSecond' in extent) return atRate(beganMs, extent.seconds, extent.perSecond);
  return untilMs(beganMs + extent.seconds * SECOND_MS);
};
