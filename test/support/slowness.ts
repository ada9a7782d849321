import { createHash } from 'node:crypto';

/** Of the machine on which limits of time were set: so many hashes of a kilobyte take this long. */
const HASHES = 20_000;
const HASHES_MS = 43;
const ROUNDS = 5;
/** Beyond, a limit would find nothing any more. */
const SLOWNESS_MAX = 3;

/** How many times as long as there a processor takes here, from 1 to 3. Limits of time in tests are multiplied by it. */
export const slowness = (): number => {
  const kilobyte = Buffer.alloc(1_000);
  const rounds = Array.from({ length: ROUNDS }, () => {
    const began = performance.now();
    for (let each = 0; each < HASHES; each += 1) createHash('sha256').update(kilobyte).digest();
    return performance.now() - began;
  });
  return Math.min(SLOWNESS_MAX, Math.max(1, Math.min(...rounds) / HASHES_MS));
};
