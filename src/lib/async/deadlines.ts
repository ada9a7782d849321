/**
 * Deadlines of several seconds, nearly all of which are met. They share one timer: every request has two deadlines, and
 * a timer for each would cost 2 µs.
 */

/** Tick length. Longer is less exact, shorter scans all open deadlines more often. */
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
 * Calls `onLate` after `ms`, at most two ticks late, unless it is stopped first. Time is counted in ticks, so a stall
 * of this process counts as one tick, and data that arrived during the stall is read first.
 * @returns a function that stops it.
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
