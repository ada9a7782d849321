import { dayAfter, daysBetween, momentOf } from './day.ts';
import type { Plan } from './warm-up.ts';

export interface Turn {
  /** `YYYY-MM-DD`, UTC: the day whose places are gone. */
  readonly today: string;
  /** How many recipients of the same destination wait before this one. */
  readonly before: number;
  /** In [0, 1). */
  readonly random: number;
}

/**
 * When the turn of a recipient comes that has to wait, in milliseconds since 1970: on the first later day that has a
 * place for it, each day's places spread over all of the day; after the plan's last day, some time of the day after.
 */
export const turnAt = ({ startsOn, caps }: Plan, { today, before, random }: Turn): number => {
  let place = before;
  const tomorrow = Math.max(0, daysBetween(startsOn, today)) + 1;
  for (const [index, cap] of caps.entries()) {
    if (index < tomorrow) continue;
    if (place < cap) return momentOf(dayAfter(startsOn, index), (place + random) / cap);
    place -= cap;
  }
  return momentOf(dayAfter(startsOn, Math.max(caps.length, tomorrow)), random);
};
