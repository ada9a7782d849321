import { type Run, type Taken, takeFrom } from './sliding-window.ts';

/**
 * What one process may take of one bucket, and what it knows of the others. The shares of all processes never come to
 * more than the limit; each is a sliding window of its own. What has been taken is part of the share until it leaves
 * the window, so only what has not been taken can be given away: every unit of the limit is taken once a window.
 */
export interface Slice {
  readonly runs: Run[];
  limit: number;
  share: number;
  /** What nobody held, when last told. */
  free: number;
  toldMs: number;
  /** What had been taken when the database was last told. */
  saidTaken: number;
  /** When the others' first unit comes free; null: they hold none. */
  othersFreeMs: number | null;
  /** More is asked for below this. */
  lowWater: number;
  /** Less than the share while others lack something: what comes back from the window above it is given away. */
  aim: number;
  aimUntilMs: number;
  triedMs: number;
  activeMs: number;
  isAhead: boolean;
  /** Costs that could not be taken since the last exchange. */
  lackingLeast: number;
  lackingTotal: number;
  waiting: (() => void)[];
}

/** Of a process and its moment. */
export interface Facts {
  /** Whole milliseconds of the process' own clock. */
  readonly nowMs: number;
  readonly windowMs: number;
  /** Processes that share the limits. */
  readonly members: number;
}

/** What a process says of a bucket in an exchange. */
export interface Offer {
  readonly ceiling: number;
  readonly keep: number;
  readonly leastNeed: number;
  readonly need: number;
  readonly isAhead: boolean;
  readonly taken: number;
  readonly freesMs: number | null;
}

export interface Grant {
  readonly more: number;
  readonly free: number;
  readonly othersFreeInMs: number | null;
}

/** Sooner takes from a process what its next request wants; later keeps it from others. */
const IDLE_MS = 2_000;

/** As long as a key is used once within it, its next request finds a share. Longer spreads thin what few use. */
const WARM_MS = 600_000;
/** What an idle bucket keeps is a tenth of its even part: enough to begin with, too little to be missed. */
const WARM_PARTS = 10;

/** An idle bucket is given back in tenths: finer costs exchanges, coarser keeps more from others. */
const RETURN_PARTS = 10;

/** How long others' lack is believed: they repeat it every half second. */
const WANTED_MS = 2_000;

/** Nobody says when what others hold unused is given back: about this soon. */
const GIVING_BACK_MS = 1_000;

export const newSlice = (limit: number): Slice => ({
  ...{ runs: [], limit, share: 0, free: 0, lowWater: 0, aim: Number.POSITIVE_INFINITY, aimUntilMs: 0 },
  ...{ toldMs: Number.NEGATIVE_INFINITY, othersFreeMs: null, triedMs: 0, activeMs: 0, isAhead: false },
  ...{ saidTaken: 0, lackingLeast: Number.POSITIVE_INFINITY, lackingTotal: 0, waiting: [] },
});

/** What of the window has been taken. */
export const usedOf = ({ runs }: Slice, { nowMs, windowMs }: Facts): number =>
  takeFrom(runs, { cost: 0, limit: Number.POSITIVE_INFINITY, nowMs, windowMs }).used;

/** What may have been taken within a window. */
export const allowanceOf = ({ share, aim, aimUntilMs }: Slice, nowMs: number): number =>
  nowMs < aimUntilMs ? Math.min(share, aim) : share;

/** @returns an even part of the limit, whose sum over all processes is no more than the limit while that can be. */
export const evenPart = (limit: number, members: number): number => Math.max(1, Math.floor(limit / members));

/** A lower limit shrinks all shares alike, at once and without asking: their sum stays within it. */
export const changeLimit = (slice: Slice, limit: number): void => {
  if (limit < slice.limit) slice.share = Math.floor((slice.share * limit) / slice.limit);
  slice.limit = limit;
  slice.toldMs = Number.NEGATIVE_INFINITY;
};

export const takeFromSlice = (slice: Slice, cost: number, allowance: number, { nowMs, windowMs }: Facts): Taken => {
  const taken = takeFrom(slice.runs, { cost, limit: Math.min(allowance, slice.limit), nowMs, windowMs });
  if (taken.allowed && cost > 0) slice.activeMs = nowMs;
  return taken;
};

/** Remembered until the next exchange, which then asks for it. */
export const noteLack = (slice: Slice, cost: number): void => {
  slice.lackingLeast = Math.min(slice.lackingLeast, cost);
  slice.lackingTotal = Math.min(slice.lackingTotal + cost, slice.limit);
};

export const forgetLack = (slice: Slice): void => {
  slice.lackingLeast = Number.POSITIVE_INFINITY;
  slice.lackingTotal = 0;
  slice.isAhead = false;
};

const isIdle = ({ activeMs }: Slice, nowMs: number): boolean => nowMs - activeMs >= IDLE_MS;

const warmPart = ({ limit, triedMs }: Slice, { nowMs, members }: Facts): number =>
  nowMs - triedMs < WARM_MS ? Math.floor(limit / (WARM_PARTS * members)) : 0;

/** Others lack `wanted`: a process in use gives way down to its even part, an idle one down to nothing. */
export const giveWay = (slice: Slice, wanted: number, { nowMs, members }: Facts): void => {
  const floor = isIdle(slice, nowMs) ? 0 : Math.ceil(slice.limit / members);
  slice.aim = Math.max(Math.min(floor, slice.share), slice.share - wanted);
  slice.aimUntilMs = nowMs + WANTED_MS;
};

const keepOf = (slice: Slice, used: number, facts: Facts): number => {
  const allowance = allowanceOf(slice, facts.nowMs);
  const target = isIdle(slice, facts.nowMs) ? Math.min(allowance, used + warmPart(slice, facts)) : allowance;
  return Math.max(used, target);
};

/** Whether something is to be said of it: it has too much, lacks something, or others wait for what has been taken. */
export const isDue = (slice: Slice, facts: Facts): boolean => {
  if (slice.lackingTotal > 0) return true;
  const used = usedOf(slice, facts);
  const surplus = slice.share - keepOf(slice, used, facts);
  const isWanted = facts.nowMs < slice.aimUntilMs;
  if (surplus < 0 || (isWanted && used !== slice.saidTaken)) return true;
  return surplus >= (isWanted || used === 0 ? 1 : Math.ceil(slice.limit / RETURN_PARTS));
};

/** Whether nothing is lost with it. */
export const isForgettable = ({ share, waiting, triedMs, runs }: Slice, nowMs: number, windowMs: number): boolean =>
  share === 0 &&
  waiting.length === 0 &&
  nowMs - triedMs >= windowMs &&
  (runs.at(-1)?.lastMs ?? triedMs) + windowMs <= nowMs;

/** Says what is kept, and from then on has no more than that. */
export const offerOf = (slice: Slice, facts: Facts): Offer => {
  const used = usedOf(slice, facts);
  const keep = keepOf(slice, used, facts);
  const { limit, lackingLeast, lackingTotal, isAhead } = slice;
  const unspent = keep - used;
  const oldest = slice.runs[0];
  slice.share = keep;
  slice.lowWater = 0; // not asked for again before the answer
  slice.saidTaken = used;
  forgetLack(slice);
  return {
    ...{ ceiling: limit, keep, isAhead, taken: used },
    need: Math.max(lackingTotal - unspent, 0),
    leastNeed: lackingTotal === 0 ? 0 : Math.max(lackingLeast - unspent, 0),
    freesMs: oldest === undefined ? null : oldest.lastMs + facts.windowMs - facts.nowMs,
  };
};

export const accept = (slice: Slice, { more, free, othersFreeInMs }: Grant, facts: Facts): void => {
  slice.share += more;
  slice.free = free;
  slice.toldMs = facts.nowMs;
  slice.othersFreeMs = othersFreeInMs === null ? null : facts.nowMs + Math.max(othersFreeInMs, GIVING_BACK_MS);
  slice.lowWater = Math.max(1, Math.floor((slice.share - usedOf(slice, facts)) / 2));
  if (more === 0) return;
  slice.activeMs = facts.nowMs;
  slice.aimUntilMs = 0;
};
