import type { HoldReason } from '../events.ts';
import type { Held } from '../message.ts';
import { atTime } from './at-time.ts';

const BAD = 'too much of it bounced or was complained about';

const KEPT_BACK: Readonly<Record<HoldReason, string>> = {
  domain_slowed: `bulk mail of its sending domain leaves message by message, because ${BAD}`,
  domain_paused: `bulk mail of its sending domain is paused, because ${BAD}`,
  organization_slowed: `bulk mail of its organization leaves message by message, because ${BAD}`,
  organization_paused: `bulk mail of its organization is paused, because ${BAD}`,
  warm_up: 'its sending domain is new to those who receive its mail, and has sent as much as it may for now',
};

const nextOf = ({ heldBy, until }: Pick<Held, 'heldBy' | 'until'>, expiresAt: string): string => {
  const released = heldBy === null ? '' : 'It goes on when that ends. ';
  return until < expiresAt
    ? `${released}At ${atTime(until)} it is looked at again in any case.`
    : `${released}Its time to live ends at ${atTime(expiresAt)}: if it still waits then, it expires.`;
};

/** Why recipients are kept back, and until when, in words that follow a colon. */
export const explainHold = (held: Pick<Held, 'reason' | 'heldBy' | 'until'>, expiresAt: string): string =>
  `${KEPT_BACK[held.reason]}. ${nextOf(held, expiresAt)}`;
