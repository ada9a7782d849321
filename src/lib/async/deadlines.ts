/**
 * Deadlines of seconds, which nearly everything keeps: one timer for all of them, since every request has two, and a timer of
 * its own would cost each 2 µs.
 */

/** Longer is less exact, shorter looks through all open deadlines more often. */
export const TICK_MS = 100;

interface Deadline {
  ticksLeft: number;
  readonly onLate: () => void;
}

const open = new Set<Deadline>();
let timer: NodeJS.Timeout | undefined;

const tick = (): void => {
  if (open.size === 0) {
    clearInterval(timer);
    timer = undefined;
  }
  for (const deadline of open) {
    deadline.ticksLeft -= 1;
    if (deadline.ticksLeft > 0) continue;
    open.delete(deadline);
    deadline.onLate();
  }
};

/**
 * Calls back after `ms`, at most two ticks late, unless it is stopped before. Time is counted in ticks, so that a stall of
 * this process counts as one: what arrived meanwhile is read first.
 * @returns stops it.
 */
export const startDeadline = (ms: number, onLate: () => void): (() => void) => {
  const deadline: Deadline = { ticksLeft: Math.ceil(ms / TICK_MS) + 1, onLate };
  open.add(deadline);
  timer ??= setInterval(tick, TICK_MS);
  if (open.size === 1) timer.ref();
  return () => {
    open.delete(deadline);
    if (open.size === 0) timer?.unref(); // an idle process may end
  };
};
