import { createHash } from 'node:crypto';

/** A unit of work, and its duration on an idle machine. */
const HASHES = 20_000;
const QUIET_MS = 35;
/** Number of measurements. The slowest counts. */
const LOOKS = 3;
/** Measurements on a slower machine prove nothing. */
const SLOWEST = 8;

const unitMs = (): number => {
  const beganMs = performance.now();
  for (let count = 0; count < HASHES; count += 1) createHash('sha256').update('calibration').digest();
  return performance.now() - beganMs;
};

/**
 * The factor by which work is slower now than on an idle machine, at least 1. Tests multiply their waits and limits
 * with it, so that a busy machine fails no test and an idle one keeps tight limits.
 */
export const slowness = (): number => {
  const ratios = Array.from({ length: LOOKS }, () => unitMs() / QUIET_MS);
  return Math.min(SLOWEST, Math.max(1, ...ratios));
};
