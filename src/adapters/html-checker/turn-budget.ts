interface Waiting {
  readonly amount: number;
  readonly proceed: () => void;
}

/** Of each turn's budget, for those who wait; the rest is for newcomers, so that one batch does not hold up the others. */
const SHARE_OF_WAITING = 0.5;

/**
 * Bounds the work done in one turn of the event loop. Nobody waits while the turn has some left; who waits proceeds in
 * a later turn, in the order of arrival. No single amount may be larger than the share of those who wait.
 */
export const createTurnBudget = (amountPerTurn: number) => {
  const waiting: Waiting[] = [];
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
    let served = 0;
    for (let next = waiting[0]; next !== undefined && left - next.amount >= reserve; next = waiting[served]) {
      left -= next.amount;
      served += 1;
      next.proceed();
    }
    waiting.splice(0, served);
    if (served > 0 || waiting.length > 0) watchTurn();
  };

  return {
    /** False: this turn has not so much left, `wait` for a later one. */
    take: (amount: number): boolean => {
      if (amount > left) return false;
      left -= amount;
      watchTurn();
      return true;
    },
    wait: (amount: number): Promise<void> =>
      new Promise((resolve) => {
        waiting.push({ amount, proceed: resolve });
        watchTurn();
      }),
  };
};
