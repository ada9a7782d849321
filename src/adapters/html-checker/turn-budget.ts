import { createFairQueue } from '../../async/fair-queue.ts';

interface Waiting {
  readonly amount: number;
  readonly proceed: () => void;
}

/** Of each turn's budget, for those who wait; the rest is for newcomers, so that one batch does not hold up the others. */
const SHARE_OF_WAITING = 0.5;

/**
 * Bounds the work done in one turn of the event loop. Nobody waits while the turn has some left; who waits proceeds in
 * a later turn; owners (organizations) take turns, each in its order of arrival. No single amount may be larger than the share of those who wait.
 */
export const createTurnBudget = (amountPerTurn: number) => {
  const waiting = createFairQueue<Waiting>();
  let left = amountPerTurn;
  let isTurnWatched = false;

  const watchTurn = (): void => {
    if (isTurnWatched) return;
    isTurnWatched = true;
    setImmediate(startTurn);
  };

  /** What was waiting is done in the microtasks right behind it, before anything else of the turn. */
  const startTurn = (): void => {
    isTurnWatched = false;
    left = amountPerTurn;
    const reserve = amountPerTurn * (1 - SHARE_OF_WAITING);
    let hasServed = false;
    for (let next = waiting.peek(); next !== undefined && left - next.amount >= reserve; next = waiting.peek()) {
      waiting.shift();
      left -= next.amount;
      hasServed = true;
      next.proceed();
    }
    if (hasServed || waiting.size > 0) watchTurn();
  };

  return {
    /** False: this turn has not so much left, `wait` for a later one. */
    take: (amount: number): boolean => {
      if (amount > left) return false;
      left -= amount;
      watchTurn();
      return true;
    },
    wait: (amount: number, owner: string): Promise<void> =>
      new Promise((resolve) => {
        waiting.push(owner, { amount, proceed: resolve });
        watchTurn();
      }),
  };
};
