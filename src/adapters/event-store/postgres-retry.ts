import type { System } from '../../domain/ports/system.ts';

/** Short: most interruptions are a restart. */
const RETRY_MS_MIN = 50;
/** How late a recovery may be noticed; shorter knocks more often on a server that is starting. */
const RETRY_MS_MAX = 2000;

/** Doubling wait before the next attempt, between half and all of it, so that processes do not come back as one. */
export const retryDelayMs = (system: Pick<System, 'randomBytes'>, attempt: number): number => {
  const wait = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(attempt, 10));
  return wait * (0.5 + (system.randomBytes(1)[0] ?? 0) / 512);
};
