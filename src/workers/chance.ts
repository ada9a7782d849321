import type { System } from '../domain/ports/system.ts';

const BYTES = 4;

/** A number in [0, 1), for jitter. */
export const chance = ({ randomBytes }: Pick<System, 'randomBytes'>): number =>
  Buffer.from(randomBytes(BYTES)).readUInt32BE() / 2 ** (8 * BYTES);
