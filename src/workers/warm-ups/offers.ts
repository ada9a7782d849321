import type { System } from '../../domain/ports/system.ts';
import { dayOf } from '../../domain/warm-up/warm-up.ts';

/** Whether what a plan keeps back is to be offered places again, because that plan replaced one that had fewer, perhaps. */
export interface Offers {
  areOpen(): boolean;
  /** Somebody who waited has got a place. */
  taken(): void;
  /** All who wait were offered one. */
  passed(): void;
}

/**
 * Passes in which nobody got a place, until the day's are gone: what is offered is tried some moments later, perhaps by
 * another process. More offer in vain what has no place, fewer leave places to the next day.
 */
const IN_VAIN_MAX = 10;

/** Every day anew: those who wait were given their turns by the plan before. */
export const createOffers = ({ now }: Pick<System, 'now'>): Offers => {
  let day = '';
  let inVain = 0;
  return {
    areOpen: () => {
      const today = dayOf(now());
      if (today !== day) inVain = 0;
      day = today;
      return inVain < IN_VAIN_MAX;
    },
    taken: () => {
      inVain = 0;
    },
    passed: () => {
      inVain += 1;
    },
  };
};
