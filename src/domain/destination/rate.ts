import type { AttemptOutcome } from '../message/record-attempt.ts';
import { isOfOne } from './is-of-one.ts';

/**
 * How many attempts a destination gets in a time, once it has asked for fewer; before that as many as are at hand. Times
 * in ms that never run backwards.
 */
export interface Rate {
  readonly perMinute: number;
  /** When it last asked for fewer. */
  readonly askedMs: number;
  readonly changedMs: number;
  /** When the next attempt may begin. */
  readonly nextMs: number;
}

const MINUTE_MS = 60_000;

/**
 * Of who refuses even that the pauses are (`pace.ts`), of which the shortest is a minute: less would be one. More would not
 * reach what providers ask of those whom they have slowed (PowerMTA's configurations for them: `backoff-max-msg-rate 1/m`).
 */
const PER_MINUTE_MIN = 1;
/**
 * While its answers are good: from the least to one a second in an hour, which is how long senders stay slow (PowerMTA's
 * `backoff-to-normal-after`). Sooner meets a limit that stands again and again, and each time costs messages minutes; later
 * keeps mail back long after the limit is gone. A share and no fixed step: nobody knows whether it takes ten or ten thousand.
 */
const DOUBLED_AFTER_MS = 600_000;
/** What was not tried for longer was not found good for longer. */
const STEP_MS_MAX = MINUTE_MS;
/** Limits by the minute and by the hour are over by then. Sooner would have who sends every hour refused every hour. */
const REMEMBERED_MS = 3_600_000;
/** A rate that is so many times what is used holds nobody back. Less may be missed by the next campaign. */
const WELL_ABOVE = 4;
/**
 * What was not used may be made up for so far back: timers are late by some ms, and rates above 50 a second have several
 * places for each. More lets a queue that was empty begin with a flood.
 */
const MADE_UP_MS = 1_000;

/**
 * Whether an attempt was told that there are too many in a time, for good or for now. Others that ask for less get fewer
 * at the same time, and pauses: who is out of order (`system`) or thinks badly of us (`reputation`) counts nothing, and
 * takes no more of it when it comes slowly; who greylists wants each stranger to wait.
 */
export const asksForFewer = (outcomes: readonly AttemptOutcome[]): boolean =>
  outcomes.some(
    (said) =>
      (said.outcome === 'deferred' || said.outcome === 'bounced') &&
      said.category === 'rate_limited' &&
      !isOfOne(said.smtp),
  );

export interface Asked {
  /** What the destination was given in the time before (`tally.ts`). */
  readonly perMinute: number;
  /** When the attempt began that was told so. */
  readonly beganMs: number;
  readonly nowMs: number;
}

const intervalMs = (perMinute: number): number => MINUTE_MS / perMinute;

/** Half of what it was given; once for all that was in hand when it asked. @param rate absent: it had never asked. */
export const slower = (rate: Rate | undefined, { perMinute: given, beganMs, nowMs }: Asked): Rate => {
  if (rate !== undefined && beganMs < rate.askedMs) return rate;
  const before = rate === undefined ? given : Math.min(rate.perMinute, given);
  const perMinute = Math.max(PER_MINUTE_MIN, before / 2);
  return { perMinute, askedMs: nowMs, changedMs: nowMs, nextMs: nowMs + intervalMs(perMinute) };
};

/** After a good answer. @returns undefined: it is held back no more. */
export const faster = (rate: Rate, { perMinute: used, nowMs }: Omit<Asked, 'beganMs'>): Rate | undefined => {
  const sinceMs = Math.min(nowMs - rate.changedMs, STEP_MS_MAX);
  const perMinute = rate.perMinute * 2 ** (sinceMs / DOUBLED_AFTER_MS);
  const isOver = nowMs - rate.askedMs > REMEMBERED_MS && perMinute > WELL_ABOVE * used;
  return isOver ? undefined : { ...rate, perMinute, changedMs: nowMs };
};

/**
 * An attempt begins (a generic cell rate algorithm: the time of the next is all there is to remember).
 * @returns undefined: it is the first for so long that it is held back no more.
 */
export const withPlaceTaken = (rate: Rate, nowMs: number): Rate | undefined =>
  nowMs - rate.nextMs > REMEMBERED_MS
    ? undefined
    : { ...rate, nextMs: Math.max(rate.nextMs, nowMs - MADE_UP_MS) + intervalMs(rate.perMinute) };

/** How many may stand in line: those who leave within a minute. More would expire there without being looked at. */
export const roomAt = ({ perMinute }: Rate): number => Math.floor(perMinute);
