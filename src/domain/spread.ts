/** What failed, or began to wait, together does not come back together. */
const SPREAD = 0.1;

/** A wait, spread by ±10 %. @param chance in [0, 1). */
export const spread = (wait: number, chance: number): number => wait * (1 - SPREAD + 2 * SPREAD * chance);
