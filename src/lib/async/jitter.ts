import type { System } from './system.ts';

/** Spreads retries, so that failures do not come back at once. */
const JITTER = 0.1;

/** A wait, jittered by ±10 %. @param random in [0, 1). */
export const jitter = (wait: number, random: number): number => wait * (1 - JITTER + 2 * JITTER * random);

const BYTES = 4;

/** A number in [0, 1), for jitter. */
export const random = ({ randomBytes }: Pick<System, 'randomBytes'>): number =>
  Buffer.from(randomBytes(BYTES)).readUInt32BE() / 2 ** (8 * BYTES);
