import type { Random } from './random.ts';
import type { Trace } from './trace.ts';

/** Something that will happen; until then it can be taken back. */
export interface Planned {
  cancel(): void;
}

/** Time that stands still while anything is done. What is due at the same moment comes in an order left to chance. */
export interface Scheduler {
  /** Since the simulation began. */
  nowMs(): number;
  after(delayMs: number, what: string, run: () => void): Planned;
  /** As `after`, for what idle time may not pass by. */
  appoint(delayMs: number, what: string, run: () => void): Planned;
  /** Infinity: there is no appointment. */
  nextAppointmentMs(): number;
  /** The next thing that happens, and all that follows from it at once. @returns false: nothing is planned. */
  step(): Promise<boolean>;
  /** Nothing happens until then: whatever was due earlier comes late, as after a pause of the whole machine. */
  skipTo(atMs: number): void;
  steps(): number;
}

interface Step {
  readonly atMs: number;
  readonly order: number;
  readonly what: string;
  run: (() => void) | null;
}

const isBefore = (left: Step, right: Step): boolean =>
  left.atMs < right.atMs || (left.atMs === right.atMs && left.order < right.order);

/** A binary heap: earliest first. */
const createHeap = () => {
  const steps: Step[] = [];
  const at = (index: number): Step => steps[index] as Step; // callers stay within the length

  const swap = (one: number, other: number): void => {
    const kept = at(one);
    steps[one] = at(other);
    steps[other] = kept;
  };

  const rise = (from: number): void => {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(at(index), at(parent))) return;
      swap(index, parent);
      index = parent;
    }
  };

  const earlierChild = (index: number): number => {
    const left = 2 * index + 1;
    return left + 1 < steps.length && isBefore(at(left + 1), at(left)) ? left + 1 : left;
  };

  const sink = (): void => {
    let index = 0;
    for (let child = earlierChild(0); child < steps.length; child = earlierChild(index)) {
      if (!isBefore(at(child), at(index))) return;
      swap(index, child);
      index = child;
    }
  };

  return {
    push: (step: Step): void => {
      steps.push(step);
      rise(steps.length - 1);
    },
    pop: (): Step | undefined => {
      const first = steps[0];
      const last = steps.pop();
      if (first === undefined || last === undefined || steps.length === 0) return first;
      steps[0] = last;
      sink();
      return first;
    },
  };
};

/** Ends once every promise that could go on has gone on. */
const microtasks = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const createScheduler = (random: Random, trace: Trace): Scheduler => {
  const heap = createHeap();
  const appointments = new Set<Step>();
  let now = 0;
  let count = 0;

  const nextStep = (): Step | undefined => {
    let step = heap.pop();
    while (step !== undefined && step.run === null) step = heap.pop();
    return step;
  };

  const plan = (delayMs: number, what: string, run: () => void): Step => {
    const step: Step = { atMs: now + Math.max(0, Math.round(delayMs)), order: random.next(), what, run };
    heap.push(step);
    return step;
  };

  return {
    nowMs: () => now,
    after: (delayMs, what, run) => {
      const step = plan(delayMs, what, run);
      return {
        cancel: () => {
          step.run = null;
        },
      };
    },
    appoint: (delayMs, what, run) => {
      const step = plan(delayMs, what, () => {
        appointments.delete(step);
        run();
      });
      appointments.add(step);
      return {
        cancel: () => {
          appointments.delete(step);
          step.run = null;
        },
      };
    },
    nextAppointmentMs: () => Math.min(...[...appointments].map(({ atMs }) => atMs)),
    step: async () => {
      const step = nextStep();
      if (step === undefined) return false;
      now = Math.max(now, step.atMs);
      count += 1;
      trace.note(now, step.what);
      step.run?.();
      await microtasks();
      return true;
    },
    skipTo: (atMs) => {
      now = Math.max(now, atMs);
    },
    steps: () => count,
  };
};
