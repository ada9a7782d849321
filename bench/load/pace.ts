/**
 * How long or how many, each connection sending its next request when it has its answer; or at a constant rate, however
 * slowly answers come.
 */
export type Extent =
  | { readonly seconds: number }
  | { readonly amount: number }
  | { readonly seconds: number; readonly perSecond: number };

export interface Pace {
  /** When the request after so many was due; null: it is not yet, or there is none. */
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

/** A request is due at its time though all connections wait, so that a server that falls behind is seen to (no "coordinated omission"). */
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
