import { createHash } from 'node:crypto';

/** A unit of work, and what it takes on a machine that does nothing else. */
const HASHES = 20_000;
const QUIET_MS = 35;
/** Looked at so often: the busiest moment counts. */
const LOOKS = 3;
/** On a machine that is slower than this nothing is to be learnt. */
const SLOWEST = 8;

const unitMs = (): number => {
  const beganMs = performance.now();
  for (let count = 0; count < HASHES; count += 1) createHash('sha256').update('calibration').digest();
  return performance.now() - beganMs;
};

/**
 * How much longer work takes here and now than on a quiet machine, 1 at least: times that a test waits, or allows, are
 * multiplied with it, so that a busy machine fails no test and a quiet one is told the truth.
 */
export const slowness = (): number => {
  const ratios = Array.from({ length: LOOKS }, () => unitMs() / QUIET_MS);
  return Math.min(SLOWEST, Math.max(1, ...ratios));
};
