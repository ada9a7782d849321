import type { HoldReason } from './events.ts';
import type { ExistingMessage } from './message.ts';
import { TTL_SECONDS_DEFAULT } from './retry-schedule.ts';

const SECOND_MS = 1_000;

type ProlongedMessage = Pick<ExistingMessage, 'timeToLiveMs' | 'expiresAt' | 'recipients'>;

export interface Wait {
  readonly reason: HoldReason;
  readonly seconds: number;
  /** ISO 8601. */
  readonly now: string;
}

/** Until when the time to live stands still already, since other recipients wait for the same. */
const stillUntilMs = ({ recipients }: ProlongedMessage, reason: HoldReason): number =>
  Math.max(0, ...recipients.map(({ held }) => (held?.reason === reason ? Date.parse(held.until) : 0)));

/**
 * When a message expires (ISO 8601) whose time to live does not run while it waits so long; what several of its
 * recipients wait at the same time counts once. Whoever asked for less than the default time to live said that it is
 * worth nothing later: it expires as it would have.
 */
export const prolonged = (state: ProlongedMessage, { reason, seconds, now }: Wait): string => {
  if (state.timeToLiveMs < TTL_SECONDS_DEFAULT * SECOND_MS) return state.expiresAt;
  const nowMs = Date.parse(now);
  const addedMs = nowMs + seconds * SECOND_MS - Math.max(nowMs, stillUntilMs(state, reason));
  return new Date(Date.parse(state.expiresAt) + Math.max(0, addedMs)).toISOString();
};
