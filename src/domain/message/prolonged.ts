import type { ExistingMessage } from './message.ts';
import { TTL_SECONDS_DEFAULT } from './retry-schedule.ts';

const SECOND_MS = 1_000;

/**
 * When a message expires (ISO 8601) whose time to live does not run while it waits so long. Whoever asked for less than
 * the default time to live said that it is worth nothing later: it expires as it would have.
 */
export const prolonged = (
  { acceptedAt, schedule, expiresAt }: Pick<ExistingMessage, 'acceptedAt' | 'schedule' | 'expiresAt'>,
  waitSeconds: number,
): string => {
  const expiresMs = Date.parse(expiresAt);
  const timeToLiveMs = expiresMs - Date.parse(schedule?.current ?? acceptedAt);
  const isShort = timeToLiveMs < TTL_SECONDS_DEFAULT * SECOND_MS;
  return isShort ? expiresAt : new Date(expiresMs + waitSeconds * SECOND_MS).toISOString();
};
